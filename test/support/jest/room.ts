import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Patterns of what this Jest project leaves out: see jest.config.mjs. */
const { LEFT_OUT = [] } = globalThis as { LEFT_OUT?: readonly string[] };

const TESTS = join(__dirname, '..', '..');
const ENDING = '.e2e-spec.ts';

/** Runs every test file of a folder in one process, which loads the service once, not once for each file. */
export function describeRoom(room: string): void {
  const files = readdirSync(join(TESTS, room)).filter((file) => file.endsWith(ENDING));
  for (const name of files.map((file) => `${room}/${file.slice(0, -ENDING.length)}`)) {
    if (LEFT_OUT.some((pattern) => new RegExp(`^${pattern}$`).test(name))) continue;
    describe(name, () => {
      // What a file replaces is not there for the next one.
      afterAll(() => jest.restoreAllMocks());
      jest.requireActual(join(TESTS, `${name}${ENDING}`));
    });
  }
}
