import { join } from 'node:path';
import { TEST_SECRET_KEY } from '../../../src/program/testing/test-api-key';
import { ROOT } from '../../support/documents/markdown';
import { type ProgramRun, run } from '../../support/processes/shell';

export const MAIN = join(ROOT, 'dist', 'main.js');

/** A SQLite database, and the folder of everything next to the databases. */
export interface MoveSource {
  readonly path: string;
  readonly folder: string;
}

/** The settings of the services before and after a move. */
export function moveSettings({ path, folder }: MoveSource): Record<string, string> {
  return { DATABASE_URL: `sqlite:${path}`, CHECKPOINT_FOLDER: folder, SECRET_KEY: TEST_SECRET_KEY };
}

/** Moves a database as an operator does. */
export function move(source: MoveSource, url: string, ...options: readonly string[]): Promise<ProgramRun> {
  const { folder } = source;
  return run(process.execPath, [MAIN, 'move', '--to', url, ...options], { folder, environment: moveSettings(source) });
}
