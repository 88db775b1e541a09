import { openRawDatabase } from './raw/open-raw-database';

/**
 * Counts the rows of every table that the measured commands write, without the rows of the one policy that only the
 * ledger's side has.
 */
export async function rowsPerTable(url: string): Promise<Readonly<Record<string, number>>> {
  const database = await openRawDatabase(url);
  const counts: Record<string, number> = {};
  for (const [table, condition] of Object.entries(CONDITIONS)) {
    const [rows] = await database.runTogether([[`SELECT count(*) AS counted FROM ${table} WHERE ${condition}`, []]]);
    counts[table] = Number(rows?.[0]?.['counted']);
  }
  await database.close();
  return counts;
}

const CONDITIONS: Readonly<Record<string, string>> = {
  entities: 'true',
  claims: 'true',
  agents: 'true',
  decisions: 'true',
  executions: 'true',
  ledger_list_items: 'true',
  ledger_tree_nodes: 'true',
  ledger_entries: `action <> 'policy.created'`,
  ledger_counters: `name NOT LIKE 'policies%' AND name <> 'ledger_entries:action:policy.created'`,
};
