import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { GENESIS_HASH, seal, sha256 } from '../../src/ledger/chain/hash-chain';
import type { StoredEntry } from '../../src/ledger/chain/stored-entry';
import { ENTRY_COLUMNS } from '../../src/ledger/schema/ledger-tables';
import { leafHash, TreeFrontier, type TreeNode } from '../../src/ledger/merkle/tree';

const COLUMNS = ENTRY_COLUMNS.map(({ name }) => `"${name}"`).join(', ');

/**
 * Does what an attacker would do who can write the database and knows the service: alters the states of entries, and
 * puts chain, head and tree right afterwards. The result is a sound log, but a different one.
 */
export async function rewriteHistory(
  foreign: SqlConnection,
  alter: (entry: StoredEntry) => StoredEntry | null,
): Promise<void> {
  const entries = await foreign.all<StoredEntry>(`SELECT ${COLUMNS} FROM ledger_entries ORDER BY sequence`);
  let previousHash = GENESIS_HASH;
  const newEntries: StoredEntry[] = [];
  for (const entry of entries.flatMap((one) => alter(one) ?? [])) {
    const sealed = sealedAnew({ ...entry, sequence: newEntries.length + 1 }, previousHash);
    newEntries.push(sealed);
    previousHash = sealed.hash;
  }
  await foreign.run('DELETE FROM ledger_entries');
  for (const entry of newEntries)
    await insert(
      foreign,
      'ledger_entries',
      ENTRY_COLUMNS.map(({ name }) => [name, entry[name]]),
    );
  await foreign.run('UPDATE ledger_head SET sequence = $1, hash = $2', [newEntries.length, previousHash]);
  await buildTree(foreign, newEntries);
}

/** `seal` lets given members override those it computes, so the previous hashes must be removed. */
function sealedAnew(entry: StoredEntry, previousHash: string): StoredEntry {
  const made = new Set(['v', 'detailsHash', 'auditHash', 'stateHash', 'previousHash', 'hash', 'erased']);
  const unsealed = Object.fromEntries(Object.entries(entry).filter(([name]) => !made.has(name)));
  return seal(unsealed as unknown as StoredEntry, previousHash);
}

/** An entry with a state that never existed. */
export function withOtherState(entry: StoredEntry): StoredEntry {
  return { ...entry, state: (entry.state ?? '{}').replace(/"name":"[^"]*"/, `"name":"${sha256(entry.id)}"`) };
}

async function buildTree(foreign: SqlConnection, entries: readonly StoredEntry[]): Promise<void> {
  const frontier = TreeFrontier.empty();
  const nodes: TreeNode[] = [];
  for (const { hash } of entries) frontier.append(leafHash(hash), nodes);
  await foreign.run('DELETE FROM ledger_tree_nodes');
  for (const node of nodes) await insert(foreign, 'ledger_tree_nodes', Object.entries(node));
  await foreign.run('UPDATE ledger_head SET frontier = $1', [frontier.text]);
}

async function insert(
  foreign: SqlConnection,
  table: string,
  values: readonly (readonly [string, string | number | null])[],
): Promise<void> {
  const names = values.map(([name]) => `"${name}"`).join(', ');
  const places = values.map((_value, index) => `$${index + 1}`).join(', ');
  await foreign.run(
    `INSERT INTO ${table} (${names}) VALUES (${places})`,
    values.map(([, value]) => value),
  );
}
