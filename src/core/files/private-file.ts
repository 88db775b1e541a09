import { Logger } from '@nestjs/common';
import { chmodSync, closeSync, lstatSync, openSync, statSync, mkdirSync, existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { link, open, rename, rm, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { parseSeed } from '../signed-notes/signed-note';

/** Permissions for the service's own user only. */
export const OWNER_ONLY = 0o600;
/** Permissions of group and others. */
const NOT_THE_OWNER = 0o077;
/** Permissions of the owner, and those of a folder for the owner alone. */
const THE_OWNER = 0o700;

/** Creates an empty file for the owner alone, with any umask; closes an existing file to others. */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', OWNER_ONLY));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    closeToOthers(path);
  }
}

/**
 * Removes the permissions of group and others from a file, if it exists. Addresses the file by name, because closing a
 * file handle would drop SQLite's locks.
 */
export function closeToOthers(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() !== true || (stats.mode & NOT_THE_OWNER) === 0) return;
  try {
    chmodSync(path, stats.mode & THE_OWNER);
  } catch (error) {
    new Logger('Files').warn(`Users other than the owner can open ${path}. Run chmod 600 on it (${String(error)}).`);
  }
}

/** Write permission for group and others. */
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Creates a folder and its missing parents for the owner alone. It creates one folder at a time, because Node's
 * recursive `mkdir` never returns if an existing parent, such as /proc, cannot contain folders.
 */
export function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: THE_OWNER });
  } catch (error) {
    // Another process may have created it meanwhile.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/**
 * Warns if others may write to a folder. Its permissions stay, because others may have been given access on purpose.
 */
export function warnWhereOthersMayWrite(folder: string): void {
  if ((statSync(folder).mode & WRITABLE_BY_OTHERS) === 0) return;
  new Logger('Files').warn(
    `Users other than the owner may write to ${folder}, and could replace the service's files. Run chmod go-w on it.`,
  );
}

let written = 0;

/** Replaces or creates the file. After a power failure, a reader finds either the previous text or the new one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = await writeTemporary(path, text);
  await orRemoved(temporary, rename(temporary, path));
  await syncToDisk(dirname(path));
}

async function writeTemporary(path: string, text: string): Promise<string> {
  written += 1;
  const temporary = `${path}.${process.pid}-${written}.new`;
  await orRemoved(temporary, writeFile(temporary, text, { mode: OWNER_ONLY, flush: true }));
  return temporary;
}

/** Removes the temporary file if the work fails; otherwise one file a minute could pile up. */
async function orRemoved(temporary: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Syncs a file or a folder. A file's name is stored in its folder, which has to be synced separately. */
export async function syncToDisk(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

const SEED_BYTES = 32;

const SIGNS = 'and tell clients its public key';

/**
 * Reads the 32 bytes of a secret key from its file; generates both if there is none yet.
 * @param label such as `signing key`
 * @param consequence instruction for the time after another key was made
 */
export async function persistentSeed(path: string, label: string, consequence = SIGNS): Promise<Buffer> {
  if (!existsSync(path)) await makeSeed(path);
  const seed = parseSeed(readFileSync(path, 'utf8').trimEnd());
  if (seed === undefined)
    throw new Error(
      `The ${label} in ${path} cannot be read: it must be 32 bytes in standard base64. Put the right key back; ` +
        `or remove the file to get a new one, ${consequence}.`,
    );
  if ((statSync(path).mode & NOT_THE_OWNER) !== 0) {
    closeToOthers(path);
    new Logger('Files').warn(
      `Users other than the owner could read the ${label} in ${path}. Replace the key if somebody may have read it.`,
    );
  }
  return seed;
}

async function makeSeed(path: string): Promise<void> {
  const temporary = await writeTemporary(path, `${randomBytes(SEED_BYTES).toString('base64')}\n`);
  try {
    await link(temporary, path);
  } catch (error) {
    // Another process on the same database was first: its key serves both.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(temporary);
  }
  await syncToDisk(dirname(path));
}
