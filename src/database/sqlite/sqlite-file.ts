import { lstatSync, mkdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseInUseError } from '../database-in-use.error';

const MAXIMUM_LINKS = 40;

/**
 * The file a configured path means, with every link followed: the write-ahead log and the lock go by name, so all who
 * use one file must use one name. Makes the folder when it is missing. Opens nothing: closing a file descriptor of the
 * database would drop SQLite's locks on it.
 */
export function resolveDatabaseFile(configured: string): string {
  let path = resolve(configured);
  for (let followed = 0; followed < MAXIMUM_LINKS; followed += 1) {
    mkdirSync(dirname(path), { recursive: true });
    path = join(realpathSync(dirname(path)), basename(path));
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return path;
    path = resolve(dirname(path), readlinkSync(path));
  }
  throw new Error(`The database path ${configured} is a circle of symbolic links.`);
}

/** A second name of the file would have a second write-ahead log: both would write the same pages. */
export function refuseHardLinks(path: string): void {
  const links = statSync(path, { throwIfNoEntry: false })?.nlink ?? 1;
  if (links > 1) {
    throw new DatabaseInUseError(
      path,
      `the file has ${links} hard links, so it may be open under another name. Keep one name of it.`,
    );
  }
}

/** What tells one file from another that took its name: device and inode. */
export interface FileIdentity {
  readonly path: string;
  readonly device: number;
  readonly inode: number;
}

export function identityOf(path: string): FileIdentity {
  const { dev, ino } = statSync(path);
  return { path, device: dev, inode: ino };
}

/** False once the file was removed or replaced: what is written then is gone with the process. */
export function isStillInPlace({ path, device, inode }: FileIdentity): boolean {
  const now = statSync(path, { throwIfNoEntry: false });
  return now?.dev === device && now.ino === inode;
}
