import { parentPort, workerData } from 'node:worker_threads';
import { ChainCheck, type CheckOrder } from './chain-check';

/**
 * The entry point of the thread that checks the chain. It answers each message once, in order; it has no database
 * connection.
 */
const check = new ChainCheck(workerData as CheckOrder);

parentPort?.on('message', (entries: string) => parentPort?.postMessage(check.check(entries)));
