import type { LedgerPosition } from '../chain/ledger-position';
import type { SqlStatement } from '../database/sql-connection';

const MOVE_HEAD = `UPDATE "ledger_head" SET "sequence" = $1, "hash" = $2, "timestamp" = $3, "lastUlid" = $4, "effectSequence" = $5, "frontier" = $6 WHERE "id" = 1`;

/** The statements that move the counters, of which those at zero go, and the head. */
export function headStatements(
  sql: Readonly<Record<'moveCounters' | 'deleteCounters', string>>,
  counts: ReadonlyMap<string, number>,
  head: LedgerPosition,
): SqlStatement[] {
  const { sequence, hash, timestamp, lastUlid, effectSequence, frontier } = head;
  const steps = [...counts].filter(([, step]) => step !== 0);
  const lower = steps.filter(([, step]) => step < 0);
  return [
    ...(steps.length === 0 ? [] : [{ sql: sql.moveCounters, parameters: [JSON.stringify(steps)] }]),
    ...(lower.length === 0 ? [] : [{ sql: sql.deleteCounters, parameters: [JSON.stringify(lower)] }]),
    { sql: MOVE_HEAD, parameters: [sequence, hash, timestamp, lastUlid, effectSequence, frontier] },
  ];
}
