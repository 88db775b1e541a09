import { Logger } from '@nestjs/common';
import { chmodSync, closeSync, lstatSync, openSync, statSync } from 'node:fs';

/** Permissions for the service's own user only. */
export const OWNER_ONLY = 0o600;
/** Permissions of group and others. */
const NOT_THE_OWNER = 0o077;
/** Permissions of the owner. */
const THE_OWNER = 0o700;

/** Creates an empty file for the owner alone, whatever the umask; an existing file is closed to others. */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', OWNER_ONLY));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    closeToOthers(path);
  }
}

/**
 * Removes the permissions of group and others from a file, if it exists. By name: closing a file drops SQLite's locks
 * on it.
 */
export function closeToOthers(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true || (found.mode & NOT_THE_OWNER) === 0) return;
  try {
    chmodSync(path, found.mode & THE_OWNER);
  } catch (error) {
    new Logger('Files').warn(`Users other than the owner can open ${path}. Run chmod 600 on it (${String(error)}).`);
  }
}

/** True if users other than the owner have any permission. */
export function isOpenToOthers(path: string): boolean {
  return (statSync(path).mode & NOT_THE_OWNER) !== 0;
}
