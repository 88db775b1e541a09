import { Logger } from '@nestjs/common';
import { chmodSync, closeSync, lstatSync, openSync, statSync } from 'node:fs';

/** For nobody but the user the service runs as. */
export const OWNER_ONLY = 0o600;
/** What group and others may do. */
const NOT_THE_OWNER = 0o077;
/** Of the owner's rights. */
const THE_OWNER = 0o700;

/** Makes an empty file for the owner alone, whatever the umask; closes one to others that is there. */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', OWNER_ONLY));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    closeToOthers(path);
  }
}

/** Takes the rights of group and others from a file, where it is there. By name: to close a file drops SQLite's locks on it. */
export function closeToOthers(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true || (found.mode & NOT_THE_OWNER) === 0) return;
  try {
    chmodSync(path, found.mode & THE_OWNER);
  } catch (error) {
    new Logger('Files').warn(`Others than the owner can open ${path}: chmod 600 it (${String(error)}).`);
  }
}

/** True when others than the owner can do something with the file. */
export function isOpenToOthers(path: string): boolean {
  return (statSync(path).mode & NOT_THE_OWNER) !== 0;
}
