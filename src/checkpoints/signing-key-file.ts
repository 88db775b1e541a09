import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { parseSeed } from '../signed-notes/note-signer';
import { createFile } from './durable-file';

const SEED_BYTES = 32;

/** Reads the seed of the signing key from its file; makes both when there is none yet. */
export async function readOrMakeSigningKey(path: string): Promise<Buffer> {
  if (!existsSync(path)) await make(path);
  const seed = parseSeed(readFileSync(path, 'utf8').trimEnd());
  if (seed !== undefined) return seed;
  throw new Error(
    `The signing key in ${path} cannot be read: it must be 32 bytes in standard base64. Put the right key back; ` +
      'or remove the file to get a new one, and tell clients its public key.',
  );
}

async function make(path: string): Promise<void> {
  try {
    await createFile(path, `${randomBytes(SEED_BYTES).toString('base64')}\n`);
  } catch (error) {
    // Another process on the same database was first: its key serves both.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
