import { basename, dirname, join, resolve } from 'node:path';
import type { Configuration } from '../../core/config/configuration';
import { makeFolder } from '../../core/files/private-file';

/** Used for a database on a server, unless a setting names another folder. */
const USUAL_FOLDER = 'data';

/**
 * The path of what is kept next to the database instead of in it, such as a key: named after the database. Creates the
 * folder if it is missing.
 * @param location of the database: its file, or its URL without a password.
 */
export function keptFile(
  { database, checkpointFolder }: Pick<Configuration, 'database' | 'checkpointFolder'>,
  location: string,
  ending: string,
): string {
  const isFile = database.kind === 'sqlite';
  const folder = resolve(checkpointFolder ?? (isFile ? dirname(location) : USUAL_FOLDER));
  makeFolder(folder);
  return join(folder, `${isFile ? basename(location) : location.slice(location.lastIndexOf('/') + 1)}.${ending}`);
}
