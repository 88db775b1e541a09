import { basename, dirname, join, relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Name of a room: a file that runs all test files of its folder in one process. */
const ROOM = /[\\/]room-spec\.ts$/;

/**
 * Measured seconds of test files: those of the first pattern that matches the path count. Only the resulting order
 * matters.
 */
const MEASURED = [
  // Files that mostly wait come first, since others can work beside them.
  [/^test\/(clients\/mcp|postgres\/replicas)\/room/, 1_200],
  [/^test\/(clients\/(gateway|gov)|console\/\w+)\/room/, 700],
  [
    /^test\/(postgres\/sessions|tampering|evidence|policies|verification|http\/limits|webhooks|ledger)\/room|^test\/faults\/(start|disk|plan-memory)/,
    150,
  ],
  [
    /^test\/(clients\/\w+\/room|package\/consumer)|^test\/faults\/(large-reads|resources|postgres|kill|failover|full-disk|hostile)/,
    100,
  ],
  [/^test\/(access|process|approvals|records)\/room|^test\/postgres\/small-rooms/, 70],
  [/^test\/(decisions|executions|database|erasures)\/room|^test\/faults\//, 50],
  [/^test\/(openapi|http|hostile)\/room/, 30],
  [/room-spec|^test\/(clients|package)\/|later-readers/, 20],
  [/^test\/|policy-e/, 5],
  [/./, 1],
];

/**
 * Jest sequencer: decides which test files run, and in which order. If a room is selected, its files do not also run by
 * themselves. Jest begins with the files that took longest the last time. A fresh clone has no such record: without
 * `MEASURED`, Jest would begin with the largest files, and end with one process at work while the others idle.
 */
export default class TestOrder extends Sequencer {
  sort(tests) {
    const inRooms = new Set(tests.flatMap(placesRunBy));
    return super.sort(tests.filter((test) => ROOM.test(test.path) || !inRooms.has(placeOf(test))));
  }

  time(test) {
    const path = relative(test.context.config.rootDir, test.path);
    return super.time(test) ?? 1_000 * MEASURED.find(([pattern]) => pattern.test(path))[1];
  }
}

/** Returns the places of the test files that this file runs, each a project and a folder. */
function placesRunBy({ path, context }) {
  if (ROOM.test(path)) return [placeOf({ path, context })];
  const { rootDir, globals } = context.config;
  if (dirname(path) !== join(rootDir, 'test', 'postgres', 'small-rooms')) return [];
  const rooms = globals.SMALL_ROOMS[basename(path, '.e2e-spec.ts')];
  return rooms.map((room) => placeOf({ path: join(rootDir, 'test', room, 'any'), context }));
}

/** Returns the place of a test file: its project and its folder. */
function placeOf({ path, context }) {
  return `${context.config.displayName.name} ${dirname(path)}`;
}
