import { Injectable } from '@nestjs/common';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Configuration } from '../../core/config/configuration';
import type { Database } from '../../ledger/database/database';
import { persistentFile } from '../../ledger/database/kept-file';
import { lockedFile } from '../../ledger/database/sqlite/sqlite-file';
import { type IssuedCheckpoint, parseCheckpoint, type SignedCheckpoint } from './checkpoint';
import { NoteSigner } from '../../core/signed-notes/signed-note';
import { closeToOthers, replaceFile, warnWhereOthersMayWrite } from '../../core/files/private-file';

/** Settings that determine the places of these files. */
export type LogSettings = Pick<
  Configuration,
  'database' | 'checkpointFolder' | 'signingKey' | 'checkpointOrigin' | 'previousVerifierKeys'
>;

/** Places of the files that must not be in the database, because they are used to check a restored backup. */
export class CheckpointFiles {
  /** File of the last checkpoint that was signed. */
  readonly checkpoint: string;
  /** Files in which earlier versions of the service, or processes with a previous key, stored the checkpoint. */
  readonly earlierCheckpoints: readonly string[];
  /** Lock that is held while a checkpoint is written; null if no other process writes one there. */
  readonly lock: string | null;
  /** File of the ids of erased records. */
  readonly erasures: string;
  readonly earlierErasures: readonly string[];
  /** File of the signing key, if the service generated it. */
  readonly signingKey: string;

  /** Creates the folder if it is missing. */
  constructor(configuration: LogSettings, { location }: Pick<Database, 'location'>) {
    const paths = (ending: string): readonly [string, ...string[]] => {
      const [name, ...others] = logNames(configuration);
      const byDatabase = persistentFile(configuration, location, ending);
      if (name === undefined) return [byDatabase];
      const [path, ...previous] = [name, ...others].map((each) =>
        persistentFile(configuration, location, ending, each),
      );
      return [path ?? byDatabase, ...previous, byDatabase];
    };
    [this.checkpoint, ...this.earlierCheckpoints] = paths('checkpoint');
    this.lock = configuration.database.kind === 'sqlite' ? null : `${this.checkpoint}.lock`;
    [this.erasures, ...this.earlierErasures] = paths('erasures');
    this.signingKey = persistentFile(configuration, location, 'signing-key');
  }
}

/**
 * Returns file names of the log, by origin and key, the current one first. A database on a server may be restored under
 * another name, and the files must still be found. Empty for a database file, and for a key whose own file is named
 * after the database.
 */
function logNames({ database, signingKey, checkpointOrigin, previousVerifierKeys }: LogSettings): readonly string[] {
  if (database.kind === 'sqlite' || signingKey === null) return [];
  const { verifierKey } = new NoteSigner(checkpointOrigin, signingKey);
  return [verifierKey, ...previousVerifierKeys].map(
    ({ name, keyId }) => `${name.replace(/[^\w.-]/g, '-').slice(0, MAX_ORIGIN_CHARACTERS)}+${keyId}`,
  );
}

/** Returns the places; warns if others may write there, and closes existing files to others. */
export function privateCheckpointFiles(configuration: Configuration, database: Database): CheckpointFiles {
  const files = new CheckpointFiles(configuration, database);
  const folder = dirname(files.checkpoint);
  // The folder of a database file was checked already.
  if (folder !== dirname(database.location)) warnWhereOthersMayWrite(folder);
  const { checkpoint, earlierCheckpoints, erasures, earlierErasures, lock } = files;
  for (const file of [checkpoint, ...earlierCheckpoints, erasures, ...earlierErasures, lock])
    if (file !== null) closeToOthers(file);
  return files;
}

/** Most characters of an origin in the name of a file. */
const MAX_ORIGIN_CHARACTERS = 100;
/** Most milliseconds to wait for the lock, whose holder only writes a file of a few hundred bytes. */
const MAX_WAIT_MS = 5_000;

/** The last checkpoint that was signed, stored outside the database, so that it survives the restoring of a backup. */
@Injectable()
export class StoredCheckpoint {
  constructor(private readonly files: CheckpointFiles) {}

  /**
   * Reads the checkpoint; null if none was signed yet. Reads from disk each time, because another process on the same
   * database may have written it.
   */
  read(): FiledCheckpoint | null {
    const { checkpoint, earlierCheckpoints } = this.files;
    const all = [checkpoint, ...earlierCheckpoints].flatMap((path) => readFiled(path) ?? []);
    return all.reduce<FiledCheckpoint | null>(
      (last, candidate) => (last === null || candidate.size > last.size ? candidate : last),
      null,
    );
  }

  /**
   * Stores a checkpoint, unless another process has stored a later one. Calls run one at a time; otherwise an earlier
   * checkpoint could overwrite a later one.
   */
  async keep({ text, size }: Pick<IssuedCheckpoint, 'text' | 'size'>): Promise<void> {
    const { lock } = this.files;
    const release = lock === null ? null : await lockedFile(lock, MAX_WAIT_MS);
    try {
      if ((this.read()?.size ?? 0) <= size) await this.write(text);
    } finally {
      await release?.close();
    }
  }

  /** Replaces the stored checkpoint, under any of its names. */
  async write(note: string): Promise<void> {
    await replaceFile(this.files.checkpoint, note);
    for (const path of this.files.earlierCheckpoints) rmSync(path, { force: true });
  }
}

/** A checkpoint, and the file that contains it. */
export interface FiledCheckpoint extends SignedCheckpoint {
  readonly path: string;
}

/** Reads a checkpoint; null if there is no such file. @throws CheckpointContradictedError if it cannot be read */
function readFiled(path: string): FiledCheckpoint | null {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return null;
  const checkpoint = parseCheckpoint(readFileSync(path, 'utf8'));
  if (typeof checkpoint !== 'string') return { ...checkpoint, path };
  throw new CheckpointContradictedError(
    `The checkpoint kept in ${path} cannot be read: it ${checkpoint}. Put the right one back; or remove the file, ` +
      'which also discards what it proves about the database.',
  );
}

/** The error for a database that does not extend its stored checkpoint. Startup ends with exit code 65. */
export class CheckpointContradictedError extends Error {
  override readonly name = 'CheckpointContradictedError';
}
