import { Logger } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { parseSeed } from '../signed-notes/signed-note';
import { closeToOthers, createFile, isOpenToOthers } from './private-file';

const SEED_BYTES = 32;

/** Reads the 32 bytes of a secret key from its file; generates both if there is none yet. @param what such as `signing key`. */
export async function keptSeed(path: string, what: string): Promise<Buffer> {
  if (!existsSync(path)) await make(path);
  const seed = parseSeed(readFileSync(path, 'utf8').trimEnd());
  if (seed === undefined)
    throw new Error(
      `The ${what} in ${path} cannot be read: it must be 32 bytes in standard base64. Put the right key back; ` +
        'or remove the file to get a new one, and tell clients its public key.',
    );
  if (isOpenToOthers(path)) {
    closeToOthers(path);
    new Logger('Files').warn(
      `Users other than the owner could read the ${what} in ${path}. Replace the key if somebody may have read it.`,
    );
  }
  return seed;
}

async function make(path: string): Promise<void> {
  try {
    await createFile(path, `${randomBytes(SEED_BYTES).toString('base64')}\n`);
  } catch (error) {
    // Another process on the same database was first: its key serves both.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
