import { closeSync, fsyncSync, openSync, readFileSync } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import type { Server } from 'node:net';
import { dirname, join } from 'node:path';
import { SettingsError } from '../../settings.js';
import { holdFolder } from './journal-folder.js';

/** The report about an execution. It is an ordinary body of `POST /executions/:id/result`. */
export type Report =
  | { readonly outcome: 'executed'; readonly result: ResultSummary }
  | {
      readonly outcome: 'failed';
      readonly reason?: string;
      readonly failureReason: string;
      readonly result?: ResultSummary;
    };

/** A summary of the response that the client got. */
export interface ResultSummary {
  /** Undefined for a result of an MCP server. */
  readonly status?: number;
  readonly sha256: string;
  readonly bytes: number;
  readonly cut?: true;
}

/** An authorised execution that is about to be sent. */
export interface SentEntry {
  readonly executionId: string;
  readonly upstream: string;
  /** Undefined in what an older gateway wrote. */
  readonly agentId?: string;
  readonly at: string;
}

/** An execution that the service has not taken a report of. */
export interface OpenEntry extends SentEntry {
  /** Null if the gateway ended before its outcome was known. */
  readonly report: Report | null;
}

type Line = SentEntry | { readonly executionId: string; readonly report: Report } | { readonly taken: string };

const FILE = 'journal.jsonl';
const ID = /^\w{1,100}$/;
/** A file with fewer bytes is not written anew to drop what has ended. */
const MIN_REWRITTEN_BYTES = 4 * 2 ** 20;

interface PendingLine {
  readonly text: string;
  readonly isSynced: boolean;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Keeps each request on disk before the gateway sends it. Lines that wait while the disk is busy are written together.
 * After a write that failed, the file is written anew, so that nothing is added to half a line.
 */
export class Journal {
  private readonly lines: PendingLine[] = [];
  private writing: Promise<void> | null = null;
  private isDamaged = false;
  private isClosed = false;
  private file: FileHandle | null = null;
  private bytes = 0;
  /** Bytes after which the file is written anew. */
  private maxBytes = MIN_REWRITTEN_BYTES;

  private constructor(
    private readonly path: string,
    private readonly folder: Server,
    private readonly entries: Map<string, OpenEntry>,
    /** Number of lines of the file that were dropped when it was opened. */
    readonly unreadableLines: number,
  ) {}

  /** @throws FolderHeldError; SettingsError if the file cannot be read or written */
  static async open(folder: string): Promise<Journal> {
    const held = await holdFolder(folder);
    const path = join(folder, FILE);
    const lines = textOf(path)
      .split('\n')
      .filter((text) => text !== '')
      .map(lineIn);
    const journal = new Journal(path, held, entriesIn(lines), lines.filter((line) => line === null).length);
    try {
      await journal.rewrite();
    } catch (error) {
      held.close();
      throw new SettingsError(`The journal cannot be written: ${String(error)}`);
    }
    return journal;
  }

  /** Returns the executions whose report the service has not taken. */
  openEntries(): OpenEntry[] {
    return [...this.entries.values()];
  }

  /** The entry of an execution without a report that was taken. */
  openEntry(executionId: string): OpenEntry | undefined {
    return this.entries.get(executionId);
  }

  /** Resolves once the entry is on disk. */
  async begin(entry: SentEntry): Promise<void> {
    this.entries.set(entry.executionId, { ...entry, report: null });
    try {
      await this.write(entry, true);
    } catch (error) {
      // Ending the entry writes the file anew without ended entries, which may have filled the disk.
      this.end(entry.executionId).catch(() => undefined);
      throw error;
    }
  }

  /** Keeps what became of an execution, until the service has taken it. */
  async note(executionId: string, report: Report): Promise<void> {
    const entry = this.entries.get(executionId);
    if (entry === undefined) return;
    this.entries.set(executionId, { ...entry, report });
    await this.write({ executionId, report }, false);
  }

  /** The service has taken the report, or has refused it for good. */
  async end(executionId: string): Promise<void> {
    if (!this.entries.delete(executionId)) return;
    await this.write({ taken: executionId }, false);
  }

  /** Closes the journal. Later entries are refused, because another gateway may hold the folder by then. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.writing;
    await this.file?.close();
    this.folder.close();
  }

  private write(line: Line, isSynced: boolean): Promise<void> {
    if (this.isClosed) return Promise.reject(new Error('The journal is closed.'));
    return new Promise((resolve, reject) => {
      this.lines.push({ text: `${JSON.stringify(line)}\n`, isSynced, resolve, reject });
      this.writing ??= this.writeLines();
    });
  }

  private async writeLines(): Promise<void> {
    for (let batch = this.lines.splice(0); batch.length > 0; batch = this.lines.splice(0)) {
      try {
        // A file that is written anew has every open entry, those of this batch included.
        if (this.isDamaged || this.bytes > this.maxBytes) await this.rewrite();
        else await this.append(batch);
        for (const line of batch) line.resolve();
      } catch (error) {
        this.isDamaged = true;
        for (const line of batch) line.reject(error as Error);
      }
    }
    this.writing = null;
  }

  private async append(batch: readonly PendingLine[]): Promise<void> {
    if (this.file === null) throw new Error('The journal is closed.');
    const text = batch.map((line) => line.text).join('');
    await this.file.appendFile(text);
    this.bytes += Buffer.byteLength(text);
    if (batch.some(({ isSynced }) => isSynced)) await this.file.datasync();
  }

  /** Replaces the file by one with the open entries, in one step. */
  private async rewrite(): Promise<void> {
    const draft = `${this.path}.new`;
    const text = this.openEntries().flatMap(linesOf).join('');
    const file = await open(draft, 'w', 0o600);
    try {
      await file.writeFile(text);
      await file.datasync();
      await rename(draft, this.path);
      syncFolder(dirname(this.path));
    } catch (error) {
      await file.close();
      throw error;
    }
    await this.file?.close();
    this.file = file;
    this.bytes = Buffer.byteLength(text);
    this.maxBytes = Math.max(MIN_REWRITTEN_BYTES, 2 * this.bytes);
    this.isDamaged = false;
  }
}

function linesOf({ report, ...entry }: OpenEntry): string[] {
  const { executionId } = entry;
  const lines: Line[] = report === null ? [entry] : [entry, { executionId, report }];
  return lines.map((line) => `${JSON.stringify(line)}\n`);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw new SettingsError(`The journal cannot be read: ${String(error)}`);
  }
}

/** The last line may be half written: what it says was not synced, so nothing was sent for it. */
function entriesIn(lines: readonly (Line | null)[]): Map<string, OpenEntry> {
  const entries = new Map<string, OpenEntry>();
  for (const line of lines) {
    if (line === null) continue;
    if ('taken' in line) entries.delete(line.taken);
    else if ('report' in line) withReport(entries, line);
    else entries.set(line.executionId, { ...line, report: null });
  }
  return entries;
}

function withReport(entries: Map<string, OpenEntry>, line: { executionId: string; report: Report }): void {
  const entry = entries.get(line.executionId);
  if (entry !== undefined) entries.set(line.executionId, { ...entry, report: line.report });
}

/** Parses a line; null if no journal writes such a line. Other programs write files of this name, too. */
function lineIn(text: string): Line | null {
  try {
    const line = Object(JSON.parse(text)) as Readonly<Record<string, unknown>>;
    const isTaken = isId(line['taken']);
    const isSent = isId(line['executionId']) && typeof line['upstream'] === 'string';
    const isReported = isId(line['executionId']) && isReport(line['report']);
    return isTaken || isSent || isReported ? (line as unknown as Line) : null;
  } catch {
    return null;
  }
}

function isReport(value: unknown): boolean {
  const { outcome } = Object(value) as { readonly outcome?: unknown };
  return outcome === 'executed' || outcome === 'failed';
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && ID.test(value);
}

/** Syncs a folder: a renamed file is on disk only after its folder is. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
