import type { SqlConnection } from '../../../src/database/sql-connection';
import { chainFaults } from './chain-faults';
import { type Attempt, type History, TRACES } from './history';
import { historyFaults } from './history-faults';
import { recordFaults } from './record-faults';
import { takeSnapshot } from './snapshot';
import { transitionFaults } from './transition-faults';

/** The first of them tell enough. */
const SHOWN = 10;

/**
 * All that is wrong with a ledger after what its clients have seen. They get the answers first that they still wait for;
 * nobody else may write meanwhile.
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
  return faults.slice(0, SHOWN);
}

/**
 * Answers of /health that said "healthy" although nothing could be committed: those between a write that was refused for it
 * and the end of the fault. A small write may still find room where a larger one was refused; what is said after it is true.
 */
export function falseHealth({ attempts, sightings }: History, from: number, to: number): number {
  const writes = attempts.filter(({ began }) => began >= from).sort((one, other) => one.ended - other.ended);
  return sightings.filter((sighting) => {
    const refusal = writes.findLast(({ answer, ended }) => answer?.status === 503 && ended < sighting.began);
    if (sighting.status !== 200 || refusal === undefined || sighting.ended >= to) return false;
    return !writes.some((write) => isCommit(write) && write.ended > refusal.began && write.began < sighting.ended);
  }).length;
}

/** Whether it was carried out, and left something in the ledger for certain. */
function isCommit({ answer, operation }: Attempt): boolean {
  const isDone = answer !== null && answer.status >= 200 && answer.status < 300;
  return isDone && TRACES[operation].done.every((trace) => trace.length > 0);
}
