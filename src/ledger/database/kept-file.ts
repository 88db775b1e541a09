import { basename, dirname, join, resolve } from 'node:path';
import type { Configuration } from '../../core/config/configuration';
import { makeFolder } from '../../core/files/private-file';

/** Used for a database on a server, unless a setting names another folder. */
const USUAL_FOLDER = 'data';

/**
 * The path of what is kept next to the database instead of in it, such as a key. Creates the folder if it is missing.
 * @param location of the database: its file, or its URL without a password.
 * @param name of the file, without its ending; that of the database by default.
 */
export function persistentFile(
  { database, checkpointFolder }: Pick<Configuration, 'database' | 'checkpointFolder'>,
  location: string,
  ending: string,
  name?: string,
): string {
  const isFile = database.kind === 'sqlite';
  const folder = resolve(checkpointFolder ?? (isFile ? dirname(location) : USUAL_FOLDER));
  makeFolder(folder);
  const databaseName = isFile ? basename(location) : location.slice(location.lastIndexOf('/') + 1);
  return join(folder, `${name ?? databaseName}.${ending}`);
}
