import type { SqlConnection } from '../../../src/ledger/database/sql-connection';
import { chainFaults } from './chain-faults';
import { type Attempt, type History, TRACES } from './history';
import { historyFaults } from './history-faults';
import { recordFaults } from './record-faults';
import { takeSnapshot } from './snapshot';
import { transitionFaults } from './transition-faults';

/** The first ones are informative enough. */
const MAX_REPORTED = 10;

/**
 * All faults of a ledger, given what its clients have seen. Requests that are still unanswered are repeated first;
 * nobody else may write during the check.
 */
export async function ledgerFaults(url: string, database: SqlConnection, history: History): Promise<string[]> {
  const unsettled = await history.settle(url);
  const snapshot = await takeSnapshot(url, database, history.checkpoint);
  await history.keepCheckpoint(url);
  const faults = [
    ...unsettled,
    ...chainFaults(snapshot),
    ...historyFaults(history.attempts, snapshot),
    ...recordFaults(snapshot),
    ...transitionFaults(snapshot),
  ];
  return faults.slice(0, MAX_REPORTED);
}

/**
 * Counts answers of /health that said "healthy" although nothing could be committed: the write that ended before it was
 * refused for that reason, no write was committed meanwhile, and the next one was not committed either. A small write
 * may still find room after a larger one was refused, and SQLite makes room when it folds its log: answers after it are
 * correct.
 */
export function falseHealth({ attempts, sightings }: History, from: number, to: number): number {
  const writes = attempts.filter(({ began }) => began >= from);
  const byEnd = writes.toSorted((one, other) => one.ended - other.ended);
  const byBegin = writes.toSorted((one, other) => one.began - other.began);
  return sightings.filter((sighting) => {
    const refusal = byEnd.findLast(({ answer, ended }) => answer?.status === 503 && ended < sighting.began);
    if (sighting.status !== 200 || refusal === undefined || sighting.ended >= to) return false;
    const next = byBegin.find(({ began }) => began >= sighting.ended && began < to);
    if (next !== undefined && isCommit(next)) return false;
    return !writes.some((write) => isCommit(write) && write.ended > refusal.began && write.began < sighting.ended);
  }).length;
}

/** True if the attempt certainly succeeded, and left an entry in the ledger. */
function isCommit({ answer, operation }: Attempt): boolean {
  const isDone = answer !== null && answer.status >= 200 && answer.status < 300;
  return isDone && TRACES[operation].done.every((trace) => trace.length > 0);
}
