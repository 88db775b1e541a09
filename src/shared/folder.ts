import { Logger } from '@nestjs/common';
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Permissions for the service's own user only. */
const OWNER_ONLY = 0o700;
/** Write permission for group and others. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Creates a folder, and missing ones above it, for the owner alone. One folder at a time: Node's recursive `mkdir`
 * never returns if an existing parent cannot contain folders, as in /proc.
 */
export function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: OWNER_ONLY });
  } catch (error) {
    // Another process may have created it meanwhile.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/** An existing folder is left as it is: others may have been given access on purpose. */
export function warnWhereOthersMayWrite(folder: string): void {
  if ((statSync(folder).mode & WRITABLE_BY_OTHERS) === 0) return;
  new Logger('Files').warn(
    `Users other than the owner may write to ${folder}, and could replace the service's files. Run chmod go-w on it.`,
  );
}
