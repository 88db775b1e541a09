import { Logger } from '@nestjs/common';
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** For nobody but the user the service runs as. */
const OWNER_ONLY = 0o700;
/** The right to write, of group and of others. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Makes a folder, and those above it that are missing, for the owner alone. Folder by folder: Node's recursive `mkdir` never
 * returns where a parent exists that takes no folders, as in /proc.
 */
export function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: OWNER_ONLY });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/** A folder that somebody else has made stays as it is: others may have been given it on purpose. */
export function warnWhereOthersMayWrite(folder: string): void {
  if ((statSync(folder).mode & WRITABLE_BY_OTHERS) === 0) return;
  new Logger('Files').warn(
    `Others than the owner may write to the folder ${folder}, and so put other files in place of the service's: chmod go-w it.`,
  );
}
