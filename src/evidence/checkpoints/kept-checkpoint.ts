import { Injectable } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { lockedFile } from '../../ledger/database/sqlite/sqlite-file';
import { parseCheckpoint, type SignedCheckpoint } from './checkpoint';
import { CheckpointFiles } from './checkpoint-files';
import { replaceFile } from '../../core/files/private-file';
import type { IssuedCheckpoint } from './log-signer';

/** Milliseconds; the holder of the lock only writes a file of a few hundred bytes. */
const LONGEST_WAIT = 5_000;

/**
 * The last checkpoint that was signed. It is stored outside the database, so that it survives the restoring of a
 * backup.
 */
@Injectable()
export class KeptCheckpoint {
  readonly path: string;
  private readonly lock: string | null;

  constructor({ checkpoint, lock }: CheckpointFiles) {
    this.path = checkpoint;
    this.lock = lock;
  }

  /**
   * Null: none was signed yet. Read from disk each time, as another process on the same database may have written it.
   */
  read(): SignedCheckpoint | null {
    const text = this.text();
    if (text === null) return null;
    const checkpoint = parseCheckpoint(text);
    if (typeof checkpoint !== 'string') return checkpoint;
    throw new CheckpointContradictedError(
      `The checkpoint kept in ${this.path} cannot be read: it ${checkpoint}. Put the right one back; or remove the file, ` +
        'which also discards what it proves about the database.',
    );
  }

  /**
   * Keeps a checkpoint, unless another process has kept a later one. One at a time, or an earlier one could overwrite a
   * later one.
   */
  async keep({ text, size }: Pick<IssuedCheckpoint, 'text' | 'size'>): Promise<void> {
    const held = this.lock === null ? null : await lockedFile(this.lock, LONGEST_WAIT);
    try {
      if ((this.read()?.size ?? 0) <= size) await this.write(text);
    } finally {
      await held?.close();
    }
  }

  write(note: string): Promise<void> {
    return replaceFile(this.path, note);
  }

  private text(): string | null {
    try {
      return readFileSync(this.path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }
}

/** The database does not extend its kept checkpoint. Startup ends with exit code 65. */
export class CheckpointContradictedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CheckpointContradictedError';
  }
}
