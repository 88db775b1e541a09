import { basename, dirname, join, resolve } from 'node:path';
import type { Configuration } from '../../core/config/configuration';
import { makeFolder } from '../../core/files/private-file';

/** Folder for a database on a server, unless a setting names another one. */
const USUAL_FOLDER = 'data';

/**
 * Returns the path of a file, such as a key, that lies next to the database. Creates the folder if it is missing.
 * @param location file of the database, or its URL without a password
 * @param name name of the file without its ending; by default the name of the database
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
