import { Table, TableColumn, type MigrationInterface, type QueryRunner } from 'typeorm';
import { integerColumn, sequenceColumn, textColumn } from '../../database/columns';
import { leafHash, TreeFrontier, type TreeNode } from '../merkle/tree';
import { TREE_NODES } from './ledger-tree-node.entity';

/** Entries read, and nodes written, per statement. */
const CHUNK = 5_000;

/** Creates the Merkle tree over the entries, including existing ones. */
export class LedgerTree1763800000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(treeNodes());
    await queryRunner.addColumn(
      'ledger_head',
      new TableColumn({ ...textColumn('frontier'), default: `'${TreeFrontier.empty().text}'` }),
    );
    const frontier = await buildTree(queryRunner);
    await queryRunner.query(`UPDATE "ledger_head" SET "frontier" = '${frontier.text}' WHERE "id" = 1`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropColumn('ledger_head', 'frontier');
    await queryRunner.dropTable(TREE_NODES);
  }
}

function treeNodes(): Table {
  return new Table({
    name: TREE_NODES,
    columns: [
      { ...integerColumn('level'), isPrimary: true },
      { ...sequenceColumn('position'), isPrimary: true },
      textColumn('hash'),
    ],
  });
}

/** Takes the entries as they are: finding faults in them is up to verification. */
async function buildTree(queryRunner: QueryRunner): Promise<TreeFrontier> {
  const frontier = TreeFrontier.empty();
  for (let after: string | null = null; ;) {
    const condition: string = after === null ? '' : `WHERE "sequence" > ${after}`;
    const entries = (await queryRunner.query(
      `SELECT "sequence", "hash" FROM "ledger_entries" ${condition} ORDER BY "sequence" LIMIT ${CHUNK}`,
    )) as { sequence: string | number; hash: unknown }[];
    const nodes: TreeNode[] = [];
    for (const { hash } of entries) frontier.append(leafHash(String(hash)), nodes);
    await insertNodes(queryRunner, nodes);
    const last = entries.at(-1);
    if (last === undefined) return frontier;
    after = String(last.sequence);
  }
}

async function insertNodes(queryRunner: QueryRunner, nodes: readonly TreeNode[]): Promise<void> {
  if (nodes.length === 0) return;
  // Numbers and hashes that we made ourselves: nothing needs quoting.
  const values = nodes.map(({ level, position, hash }) => `(${level}, ${position}, '${hash}')`);
  await queryRunner.query(`INSERT INTO "${TREE_NODES}" ("level", "position", "hash") VALUES ${values.join(', ')}`);
}
