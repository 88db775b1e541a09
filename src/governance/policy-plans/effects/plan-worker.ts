import { parentPort } from 'node:worker_threads';
import { Comparison, type ComparisonPart } from './comparison';

/**
 * The entry point of the thread that compares two sets of policies: it receives them in parts and answers the last one.
 */
const comparison = new Comparison();

parentPort?.on('message', (part: ComparisonPart) => {
  const answer = comparison.take(part);
  if (answer !== null) parentPort?.postMessage(answer);
});
