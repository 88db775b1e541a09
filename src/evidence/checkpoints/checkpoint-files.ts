import { basename, dirname, join, resolve } from 'node:path';
import type { Configuration } from '../../core/config/configuration';
import type { Database } from '../../ledger/database/database';
import { makeFolder, warnWhereOthersMayWrite, closeToOthers } from '../../core/files/private-file';

/** Used for a database on a server, unless a setting names another folder. */
const USUAL_FOLDER = 'data';

/** Where the service keeps what must not be in the database, because it is used to check a restored backup. */
export abstract class CheckpointFiles {
  /** The last checkpoint that was signed. */
  abstract readonly checkpoint: string;
  /** Held while a checkpoint is written; null if no other process writes one there. */
  abstract readonly lock: string | null;
  /** The signing key, if the service generated it. */
  abstract readonly signingKey: string;
}

/** Creates the folder if it is missing. */
export function checkpointFiles(
  { database, checkpointFolder }: Configuration,
  { location }: Pick<Database, 'location'>,
): CheckpointFiles {
  const isFile = database.kind === 'sqlite';
  const folder = resolve(checkpointFolder ?? (isFile ? dirname(location) : USUAL_FOLDER));
  makeFolder(folder);
  const name = join(folder, isFile ? basename(location) : location.slice(location.lastIndexOf('/') + 1));
  const checkpoint = `${name}.checkpoint`;
  return { checkpoint, lock: isFile ? null : `${checkpoint}.lock`, signingKey: `${name}.signing-key` };
}

/** The same, with a warning if others may write there; existing files are closed to others. */
export function privateCheckpointFiles(
  configuration: Configuration,
  database: Pick<Database, 'location'>,
): CheckpointFiles {
  const files = checkpointFiles(configuration, database);
  const folder = dirname(files.checkpoint);
  // The folder of a database file was checked already.
  if (folder !== dirname(database.location)) warnWhereOthersMayWrite(folder);
  closeToOthers(files.checkpoint);
  if (files.lock !== null) closeToOthers(files.lock);
  return files;
}
