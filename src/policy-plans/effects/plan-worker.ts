import { parentPort } from 'node:worker_threads';
import { Comparison, type ComparisonPart } from './comparison';

/** The program of the thread that compares two sets of policies: it takes them in parts and answers when it is asked to. */
const comparison = new Comparison();

parentPort?.on('message', (part: ComparisonPart) => {
  const answer = comparison.take(part);
  if (answer !== null) parentPort?.postMessage(answer);
});
