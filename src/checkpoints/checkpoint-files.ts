import { basename, dirname, join, resolve } from 'node:path';
import type { Configuration } from '../config/configuration';
import type { Database } from '../database/database';
import { makeFolder, warnWhereOthersMayWrite } from '../shared/folder';
import { closeToOthers } from '../shared/private-file';

/** For a database on a server, unless a setting names another. */
const USUAL_FOLDER = 'data';

/** Where the service keeps what must not be in the database, as a backup of that is to be held against it. */
export abstract class CheckpointFiles {
  /** The last checkpoint that was signed. */
  abstract readonly checkpoint: string;
  /** Held while a checkpoint is kept; null where no other process keeps one there. */
  abstract readonly lock: string | null;
  /** The signing key, where the service made it. */
  abstract readonly signingKey: string;
}

/** Makes the folder when it is missing. */
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

/** The same, with a warning where others may write there; what is there is closed to them. */
export function privateCheckpointFiles(
  configuration: Configuration,
  database: Pick<Database, 'location'>,
): CheckpointFiles {
  const files = checkpointFiles(configuration, database);
  const folder = dirname(files.checkpoint);
  // That of a database's file was looked at already.
  if (folder !== dirname(database.location)) warnWhereOthersMayWrite(folder);
  closeToOthers(files.checkpoint);
  if (files.lock !== null) closeToOthers(files.lock);
  return files;
}
