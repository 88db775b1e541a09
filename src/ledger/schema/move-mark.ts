import type { OpenedDatabase } from '../database/start-condition';
import { firstRow } from './schema-version';

/**
 * Table that marks a PostgreSQL database into which records are being copied; dropped once all of them are verified.
 */
export const MOVE_MARK = 'unfinished_move';

const SELECT_MARK = `SELECT "source" FROM "${MOVE_MARK}"`;

/** The error for a database into which not all records were moved. Startup ends with exit code 65. */
export class UnfinishedMoveError extends Error {
  override readonly name = 'UnfinishedMoveError';
}

/** Returns the database from which records are copied into this one; null if this one has no mark. */
export async function unfinishedMoveTo(database: OpenedDatabase): Promise<string | null> {
  return (await firstRow<{ source: string }>(database, SELECT_MARK))?.source ?? null;
}

/** @throws UnfinishedMoveError */
export async function refuseUnfinishedMove(database: OpenedDatabase): Promise<void> {
  const source = await unfinishedMoveTo(database);
  if (source === null) return;
  throw new UnfinishedMoveError(
    `The database ${database.location} is not complete: the move of ${source} to it has not ended. Run agent-governance move ` +
      'with --again, or go on with the database that was to be moved.',
  );
}
