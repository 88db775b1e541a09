import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../src/config/read-configuration';

/** A database file of a test, alone in a folder. */
export interface TemporaryDatabase {
  readonly folder: string;
  readonly path: string;
  /** What makes the service use it. */
  readonly environment: Environment;
  remove(): void;
}

/** A database that outlives the application, for tests that start it again or look into the file. */
export function temporaryDatabase(): TemporaryDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'governance-test-'));
  const path = join(folder, 'governance.db');
  return {
    folder,
    path,
    environment: { DATABASE_URL: `sqlite:${path}` },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
