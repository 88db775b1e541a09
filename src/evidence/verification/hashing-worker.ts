import { parentPort, workerData } from 'node:worker_threads';
import { ChainCheck, type CheckOrder } from './chain-check';

/**
 * Entry point of the thread that checks the chain. It answers each message once, in order, and has no database
 * connection.
 */
const check = new ChainCheck(workerData as CheckOrder);

parentPort?.on('message', (entries: string) => parentPort?.postMessage(check.check(entries)));
