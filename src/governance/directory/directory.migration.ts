import { type MigrationInterface, type QueryRunner, Table, TableIndex } from 'typeorm';
import { integerColumn, textColumn } from '../../ledger/database/columns';
import { optionalTexts, primary, texts } from '../../ledger/schema/table-shapes';

const DIRECTORY_INDEX = new TableIndex({
  columnNames: ['directory', 'createdSequence'],
  where: '"directory" IS NOT NULL',
});

const TABLES = [
  new Table({
    name: 'directory_users',
    columns: [
      primary(textColumn('agentId')),
      ...texts('externalId userName createdAt updatedAt'),
      ...optionalTexts('userNameKey displayName'),
      ...['isActive', 'isHeld', 'isDeleted'].map(integerColumn),
    ],
    indices: [
      { columnNames: ['externalId'], isUnique: true },
      { columnNames: ['userNameKey'], isUnique: true },
    ],
  }),
  new Table({
    name: 'directory_groups',
    columns: [primary(textColumn('id')), ...texts('displayName createdAt updatedAt'), ...optionalTexts('externalId')],
    indices: [
      { columnNames: ['externalId'], isUnique: true },
      { columnNames: ['displayName'], isUnique: true },
    ],
  }),
  new Table({
    name: 'directory_members',
    columns: [primary(textColumn('groupId')), primary(textColumn('agentId'))],
    indices: [{ columnNames: ['agentId'] }],
  }),
];

/** Adds people and groups from a directory. */
export class Directory1766600000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE "agents" ADD COLUMN "directory" text');
    await queryRunner.createIndex('agents', DIRECTORY_INDEX);
    for (const table of TABLES) await queryRunner.createTable(table);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const { name } of TABLES) await queryRunner.dropTable(name);
    await queryRunner.dropIndex('agents', DIRECTORY_INDEX);
    await queryRunner.query('ALTER TABLE "agents" DROP COLUMN "directory"');
  }
}
