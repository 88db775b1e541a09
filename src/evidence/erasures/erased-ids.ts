import { Injectable, Logger } from '@nestjs/common';
import { statSync } from 'node:fs';
import { appendFile, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { unavailable } from '../../core/errors/domain-error';
import { OWNER_ONLY, syncToDisk } from '../../core/files/private-file';
import { CheckpointFiles } from '../checkpoints/stored-checkpoint';
import { Database } from '../../ledger/database/database';
import { RecordReader } from '../../ledger/reading/record-reader';
import { ERASABLE_TYPES, ERASURE, type ErasureSubject } from './erasure.entity';

const SELECT_NEWEST = `SELECT max("createdSequence") AS "sequence" FROM "erasures"`;
/** Most erasures read at once. */
const AT_ONCE = 100;

/**
 * Ids that erasures have named, in a file outside the database, because an older backup does not contain them. Each
 * line is a kind and an id.
 */
@Injectable()
export class ErasedIds {
  private readonly logger = new Logger('Erasures');
  /** Sequence of the last erasure in the file; null before the first read. */
  private upTo: number | null = null;

  constructor(
    private readonly files: CheckpointFiles,
    private readonly database: Database,
    private readonly records: RecordReader,
  ) {}

  get path(): string {
    return this.files.erasures;
  }

  /** @throws UNAVAILABLE if no id could be added now, because erased contents could come back */
  async requireFile(): Promise<void> {
    try {
      await (await open(this.path, 'a', OWNER_ONLY)).close();
    } catch (error) {
      this.logger.error(`Nothing can be erased, as its ids cannot be kept in ${this.path}: ${String(error)}`);
      throw unavailable('The ids of what is erased cannot be kept now.');
    }
  }

  /**
   * Adds the ids that the file lacks. @throws Error if they cannot be stored, because erased contents could come back
   */
  async add(subjects: readonly ErasureSubject[]): Promise<void> {
    try {
      const text = await this.text();
      const storedSubjects = subjectsIn(text);
      const lines = [...new Set(subjects.map(lineOf))].filter((line) => !storedSubjects.has(line));
      if (lines.length === 0) return;
      // A line that a power failure cut short must not swallow the next one.
      const isCut = text !== '' && !text.endsWith('\n');
      const added = `${isCut ? '\n' : ''}${lines.join('')}`;
      await appendFile(this.path, added, { mode: OWNER_ONLY, flush: true });
      await syncToDisk(dirname(this.path));
    } catch (error) {
      throw new Error(`The ids of what was erased cannot be kept in ${this.path}: ${String(error)}`, { cause: error });
    }
  }

  /**
   * Adds the ids of all erasures since the last call, by any process, which may have another folder.
   * @returns ids that these erasures named @throws as `add`
   */
  async keepNew(): Promise<readonly ErasureSubject[]> {
    const [newest] = await this.database.points.all<{ sequence: number | null }>(SELECT_NEWEST);
    if ((newest?.sequence ?? 0) <= (this.upTo ?? 0)) return [];
    const range = { conditions: [], order: 'asc', position: this.upTo, atOnce: AT_ONCE } as const;
    const subjects: ErasureSubject[] = [];
    let { upTo } = this;
    for await (const erasures of this.records.columns(ERASURE, ['subjects'], range)) {
      for (const erasure of erasures) subjects.push(...erasure.subjects);
      upTo = erasures.at(-1)?.createdSequence ?? upTo;
    }
    if (subjects.length > 0) await this.add(subjects);
    this.upTo = upTo;
    return subjects;
  }

  /** Reads the ids by their lines, in the order of their erasure. */
  async read(): Promise<ReadonlyMap<string, ErasureSubject>> {
    return subjectsIn(await this.text());
  }

  private async text(): Promise<string> {
    const texts: string[] = [];
    for (const path of [...this.files.earlierErasures, this.path])
      if (statSync(path, { throwIfNoEntry: false }) !== undefined) texts.push(await readFile(path, 'utf8'));
    return texts.join('\n');
  }
}

function subjectsIn(text: string): Map<string, ErasureSubject> {
  const subjects = new Map<string, ErasureSubject>();
  for (const line of text.split('\n')) {
    const [name, id] = line.split(' ');
    const type = ERASABLE_TYPES.find((erasable) => erasable === name);
    // A line that was cut short belongs to an erasure that was never answered, or the next start writes it again.
    if (type !== undefined && id !== undefined) subjects.set(lineOf({ type, id }), { type, id });
  }
  return subjects;
}

export function lineOf({ type, id }: ErasureSubject): string {
  return `${type} ${id}\n`;
}
