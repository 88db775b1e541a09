import { basename, dirname, join, relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Runs all test files of its folder in one process. */
const ROOM = /[\\/]room-spec\.ts$/;

/** Seconds, as measured: those of the first pattern that fits. Only the order that they give matters. */
const MEASURED = [
  // Those that mostly wait come first, beside which others can work.
  [/^test\/(clients\/mcp|postgres\/replicas)\/room/, 1_200],
  [/^test\/(clients\/(gateway|gov)|console\/\w+)\/room/, 700],
  [
    /^test\/(postgres\/sessions|verification|policies|http\/limits|webhooks|ledger)\/room|^test\/faults\/(start|disk|plan-memory)/,
    150,
  ],
  [
    /^test\/(clients\/\w+\/room|package\/consumer)|^test\/faults\/(large-reads|resources|postgres|kill|failover|full-disk|hostile)/,
    100,
  ],
  [/^test\/(access|process|approvals|records)\/room|^test\/postgres\/small-rooms/, 70],
  [/^test\/(decisions|evidence|executions|database|erasures)\/room|^test\/faults\//, 50],
  [/^test\/(openapi|http|hostile)\/room/, 30],
  [/room-spec|^test\/(clients|package)\/|later-readers/, 20],
  [/^test\/|policy-e/, 5],
  [/./, 1],
];

/**
 * Jest sequencer: which test files run, and in which order. Where a room has been chosen, its files do not run by
 * themselves as well. Jest begins with what took longest the last time, of which a fresh clone has no record: without
 * `MEASURED` it would begin with the largest files there, and end with one process at work while others idle.
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

/** The folders, in its project, whose test files this one runs. */
function placesRunBy({ path, context }) {
  if (ROOM.test(path)) return [placeOf({ path, context })];
  const { rootDir, globals } = context.config;
  if (dirname(path) !== join(rootDir, 'test', 'postgres', 'small-rooms')) return [];
  const rooms = globals.SMALL_ROOMS[basename(path, '.e2e-spec.ts')];
  return rooms.map((room) => placeOf({ path: join(rootDir, 'test', room, 'any'), context }));
}

/** The folder of a test file, in its project. */
function placeOf({ path, context }) {
  return `${context.config.displayName.name} ${dirname(path)}`;
}
