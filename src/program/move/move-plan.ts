import { MOVE_MARK } from '../../ledger/schema/move-mark';

/** Check of a table's copy, in addition to the number of its rows. */
type Check =
  /** Checks the hashes of the chain. */
  | 'chain'
  /** Checks each record against the last entry about it. */
  | 'records'
  /** Checks each row by itself, because no entry covers the rows. */
  | 'rows';

interface CopiedTable {
  readonly treatment: 'copied';
  readonly check: Check;
}

interface OtherTable {
  /**
   * - `rebuilt`: derived from the copied tables, and checked against them as in any verification of records.
   * - `left`: describes processes of the source, none of which runs.
   * - `made`: written by the migrations of the target.
   */
  readonly treatment: 'rebuilt' | 'left' | 'made';
}

type TablePlan = CopiedTable | OtherTable;

const CHAIN: CopiedTable = { treatment: 'copied', check: 'chain' };
const RECORDS: CopiedTable = { treatment: 'copied', check: 'records' };
const ROWS: CopiedTable = { treatment: 'copied', check: 'rows' };
const REBUILT: OtherTable = { treatment: 'rebuilt' };
const LEFT: OtherTable = { treatment: 'left' };
const MADE: OtherTable = { treatment: 'made' };

/** Treatment of each table of the service in a move. */
export const TABLE_PLANS: Readonly<Record<string, TablePlan>> = {
  ledger_entries: CHAIN,
  entities: RECORDS,
  claims: RECORDS,
  agents: RECORDS,
  policies: RECORDS,
  decisions: RECORDS,
  executions: RECORDS,
  grants: RECORDS,
  api_keys: RECORDS,
  passkeys: RECORDS,
  delegations: RECORDS,
  stops: RECORDS,
  webhooks: RECORDS,
  erasures: RECORDS,
  restorations: RECORDS,
  idempotency_keys: ROWS,
  ledger_leftovers: ROWS,
  webhook_standings: ROWS,
  mail_recipients: ROWS,
  change_requests: ROWS,
  change_marks: ROWS,
  directory_users: ROWS,
  directory_groups: ROWS,
  directory_members: ROWS,
  secret_key_proofs: ROWS,
  // Copied last: a target without it has no chain.
  ledger_head: ROWS,
  ledger_counters: REBUILT,
  ledger_list_items: REBUILT,
  ledger_sums: REBUILT,
  ledger_tree_nodes: REBUILT,
  process_leases: LEFT,
  webhook_leases: LEFT,
  migrations: MADE,
  [MOVE_MARK]: MADE,
};

/** A table whose rows are copied. */
export interface TableCopy {
  readonly table: string;
  readonly check: Check;
}

/** Returns the tables to copy, in order. @throws Error for a table without a plan, which belongs to a module */
export function planCopies(tables: readonly string[]): TableCopy[] {
  const unknown = tables.filter((table) => !Object.hasOwn(TABLE_PLANS, table));
  if (unknown.length > 0)
    throw new Error(`The tables ${unknown.join(', ')} belong to no part of the service, so it cannot move them.`);
  return Object.entries(TABLE_PLANS).flatMap(([table, plan]) =>
    plan.treatment === 'copied' && tables.includes(table) ? [{ table, check: plan.check }] : [],
  );
}

/** The tables that a move creates in its target. */
export const TARGET_TABLES = Object.keys(TABLE_PLANS);
