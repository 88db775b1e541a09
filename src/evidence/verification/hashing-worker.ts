import { parentPort, workerData } from 'node:worker_threads';
import { entriesFromJson } from '../../ledger/chain/entry-columns';
import { ChainCheck, type ChainVerdict, type CheckOrder, type ClaimedEnd } from './chain-check';

/** Messages to the thread: check a chunk, or return the verdict. */
export type HashingOrder = { readonly entries: string } | { readonly head: ClaimedEnd };

/**
 * The entry point of the thread that checks the chain. It answers each message once, in order; it has no database
 * connection.
 */
const check = new ChainCheck(workerData as CheckOrder);

parentPort?.on('message', (order: HashingOrder) => parentPort?.postMessage(carryOut(order)));

function carryOut(order: HashingOrder): ChainVerdict | null {
  if ('head' in order) return check.finish(order.head);
  for (const entry of entriesFromJson(order.entries)) check.add(entry);
  return null;
}
