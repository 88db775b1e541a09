import type { SqlConnection } from '../../../src/database/sql-connection';
import { chainFaults } from './chain-faults';
import { type History } from './history';
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
 * Answers of /health that said "healthy" although nothing could be committed: those between the first write that was
 * refused for it, and the end of the fault.
 */
export function falseHealth({ attempts, sightings }: History, from: number, to: number): number {
  const refusals = attempts.filter(({ answer, began }) => answer?.status === 503 && began >= from);
  const known = Math.min(...refusals.map(({ ended }) => ended));
  return sightings.filter(({ status, began, ended }) => status === 200 && began > known && ended < to).length;
}
