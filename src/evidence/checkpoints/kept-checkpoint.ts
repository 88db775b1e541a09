import { Injectable } from '@nestjs/common';
import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Configuration } from '../../core/config/configuration';
import type { Database } from '../../ledger/database/database';
import { keptFile } from '../../ledger/database/kept-file';
import { lockedFile } from '../../ledger/database/sqlite/sqlite-file';
import { type IssuedCheckpoint, parseCheckpoint, type SignedCheckpoint } from './checkpoint';
import { closeToOthers, replaceFile, warnWhereOthersMayWrite } from '../../core/files/private-file';

/** Where the service keeps what must not be in the database, because it is used to check a restored backup. */
export class CheckpointFiles {
  /** The last checkpoint that was signed. */
  readonly checkpoint: string;
  /** Held while a checkpoint is written; null if no other process writes one there. */
  readonly lock: string | null;
  /** The ids of what was erased. */
  readonly erasures: string;
  /** The signing key, if the service generated it. */
  readonly signingKey: string;

  /** Creates the folder if it is missing. */
  constructor(configuration: Configuration, { location }: Pick<Database, 'location'>) {
    this.checkpoint = keptFile(configuration, location, 'checkpoint');
    this.lock = configuration.database.kind === 'sqlite' ? null : `${this.checkpoint}.lock`;
    this.erasures = keptFile(configuration, location, 'erasures');
    this.signingKey = keptFile(configuration, location, 'signing-key');
  }
}

/** With a warning if others may write there; existing files are closed to others. */
export function privateCheckpointFiles(configuration: Configuration, database: Database): CheckpointFiles {
  const files = new CheckpointFiles(configuration, database);
  const folder = dirname(files.checkpoint);
  // The folder of a database file was checked already.
  if (folder !== dirname(database.location)) warnWhereOthersMayWrite(folder);
  for (const file of [files.checkpoint, files.erasures, files.lock]) if (file !== null) closeToOthers(file);
  return files;
}

/** Milliseconds; the holder of the lock only writes a file of a few hundred bytes. */
const LONGEST_WAIT = 5_000;

/**
 * The last checkpoint that was signed. It is stored outside the database, so that it survives the restoring of a
 * backup.
 */
@Injectable()
export class KeptCheckpoint {
  constructor(private readonly files: CheckpointFiles) {}

  /**
   * Null: none was signed yet. Read from disk each time, as another process on the same database may have written it.
   */
  read(): SignedCheckpoint | null {
    if (statSync(this.files.checkpoint, { throwIfNoEntry: false }) === undefined) return null;
    const checkpoint = parseCheckpoint(readFileSync(this.files.checkpoint, 'utf8'));
    if (typeof checkpoint !== 'string') return checkpoint;
    throw new CheckpointContradictedError(
      `The checkpoint kept in ${this.files.checkpoint} cannot be read: it ${checkpoint}. Put the right one back; or remove the file, ` +
        'which also discards what it proves about the database.',
    );
  }

  /**
   * Keeps a checkpoint, unless another process has kept a later one. One at a time, or an earlier one could overwrite a
   * later one.
   */
  async keep({ text, size }: Pick<IssuedCheckpoint, 'text' | 'size'>): Promise<void> {
    const { lock } = this.files;
    const held = lock === null ? null : await lockedFile(lock, LONGEST_WAIT);
    try {
      if ((this.read()?.size ?? 0) <= size) await this.write(text);
    } finally {
      await held?.close();
    }
  }

  write(note: string): Promise<void> {
    return replaceFile(this.files.checkpoint, note);
  }
}

/** The database does not extend its kept checkpoint. Startup ends with exit code 65. */
export class CheckpointContradictedError extends Error {
  override readonly name = 'CheckpointContradictedError';
}
