import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ROOT } from '../documents/markdown';
import { forgetSecrets } from '../application/secret-watch';

type Names = Readonly<Record<string, readonly string[]>>;

/**
 * On PostgreSQL, the files of a room that run there, unless all do, and which rooms run together: see jest.config.mjs.
 */
const { ON_POSTGRES, SMALL_ROOMS } = globalThis as { ON_POSTGRES?: Names; SMALL_ROOMS?: Names };

const ENDING = '.e2e-spec.ts';

/** Runs every test file of a folder in one process, which loads the service once, not once for each file. */
export function describeRoom(folder: string): void {
  const room = basename(folder);
  const chosen = ON_POSTGRES?.[room] ?? null;
  const names = readdirSync(folder).flatMap((file) => (file.endsWith(ENDING) ? [basename(file, ENDING)] : []));
  const missing = chosen?.filter((name) => !names.includes(name)) ?? [];
  if (missing.length > 0)
    throw new Error(`jest.config.mjs names files that ${room} does not have: ${missing.join(', ')}`);
  for (const name of chosen ?? names) {
    describe(`${room}/${name}`, () => {
      // Mocks and secrets of a file do not concern the next one.
      afterAll(() => {
        jest.restoreAllMocks();
        forgetSecrets();
      });
      jest.requireActual(join(folder, `${name}${ENDING}`));
    });
  }
}

/** Runs the rooms that are small on PostgreSQL, one after another. */
export function describeSmallRooms(file: string): void {
  for (const room of SMALL_ROOMS?.[basename(file, ENDING)] ?? []) describeRoom(join(ROOT, 'test', room));
}
