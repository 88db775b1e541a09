import { link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { OWNER_ONLY } from './private-file';

let written = 0;

/** Replaces or creates the file: a reader, even after a power failure, finds the previous text or the new one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = await writeTemporary(path, text);
  await orRemoved(temporary, rename(temporary, path));
  await syncToDisk(dirname(path));
}

/** Creates the file atomically; throws EEXIST if another process was first. */
export async function createFile(path: string, text: string): Promise<void> {
  const temporary = await writeTemporary(path, text);
  try {
    await link(temporary, path);
  } finally {
    await rm(temporary);
  }
  await syncToDisk(dirname(path));
}

async function writeTemporary(path: string, text: string): Promise<string> {
  written += 1;
  const temporary = `${path}.${process.pid}-${written}.new`;
  await orRemoved(temporary, writeToDisk(temporary, text));
  return temporary;
}

/** A leftover temporary file is removed: there could be one a minute. */
async function orRemoved(temporary: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeToDisk(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', OWNER_ONLY);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** For a file or a folder. A file's name is stored in its folder, which has to be synced separately. */
export async function syncToDisk(path: string): Promise<void> {
  const opened = await open(path, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
