import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Seconds, as measured: those of the first pattern that fits. Only the order that they give matters. */
const MEASURED = [
  [/^test\/rooms\/(policies|ledger|verification)/, 100],
  [/^test\/(console\/(reviewing|screens|oidc)|clients\/command-line)/, 70],
  [/^test\/(clients\/strange-answers|process\/start\.|rooms\/(webhooks|database))/, 50],
  [/^test\/(rooms|faults)\/|^test\/(console\/proof|package\/consumer|clients\/(policy-files|hook))/, 40],
  [/^test\/(console\/|clients\/mcp\/proxy)/, 30],
  [/^test\/(postgres|clients)\/|later-readers/, 20],
  [/^test\//, 5],
  [/./, 1],
];

/**
 * Jest sequencer. Jest begins with what took longest the last time, of which a fresh clone has no record. Jest would
 * begin with the largest files there, and end with one process that kills the service for minutes while others idle.
 */
export default class LongestFirst extends Sequencer {
  time(test) {
    const path = relative(test.context.config.rootDir, test.path);
    return super.time(test) ?? 1_000 * MEASURED.find(([pattern]) => pattern.test(path))[1];
  }
}
