import { Injectable } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { parseCheckpoint, type SignedCheckpoint } from './checkpoint';
import { CheckpointContradictedError } from './checkpoint-contradicted.error';
import { CheckpointFiles } from './checkpoint-files';
import { replaceFile } from './durable-file';

/** The last checkpoint that was signed. It is outside the database, so that it outlives a restored one. */
@Injectable()
export class KeptCheckpoint {
  readonly path: string;

  constructor({ checkpoint }: CheckpointFiles) {
    this.path = checkpoint;
  }

  /** Null: none was signed yet. Read anew each time, as another process on the same database may keep it, too. */
  read(): SignedCheckpoint | null {
    const text = this.text();
    if (text === null) return null;
    const checkpoint = parseCheckpoint(text);
    if (typeof checkpoint !== 'string') return checkpoint;
    throw new CheckpointContradictedError(
      `The checkpoint kept in ${this.path} cannot be read: it ${checkpoint}. Put the right one back; or remove the file, ` +
        'and with it what is known of the database by then.',
    );
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
