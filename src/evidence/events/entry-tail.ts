import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseFault } from '../../ledger/database/database-fault';
import { LedgerService } from '../../ledger/ledger.service';
import { EntryReader, type ParsedListedEntry } from '../../ledger/reading/entry-reader';
import type { Condition, PageRequest } from '../../ledger/kinds/record-page';
import { AuditEntryResponse } from '../audit/dto/audit-entry.response';
import { type EventFilter, matchesFilter } from './event-filter';

/** Most entries read at once. */
const CHUNK_SIZE = 250;
/** Milliseconds after which a failed read is retried. */
const RETRY_MS = 500;
/** Most chunks in memory, for readers that reach them a little later. */
const MAX_CHUNKS = 8;
/**
 * Milliseconds for which a chunk may be reused. Then it is read again, because an erasure may have removed its
 * contents.
 */
export const FRESH = 1_000;

/** New entries of all processes, read once for all readers of this process at the same position. */
@Injectable()
export class EntryTail {
  /** Chunks by the position before each, in order of reading. */
  private readonly chunks = new Map<number, Promise<EventChunk>>();

  constructor(
    private readonly entries: EntryReader,
    private readonly ledger: LedgerService,
  ) {}

  /**
   * Returns the entries after a position once there are any; none once the signal is aborted. Waits for an unavailable
   * database.
   */
  async readAfter(position: number, signal: AbortSignal): Promise<EventChunk> {
    while (!signal.aborted) {
      await this.ledger.waitBeyond(position, signal);
      const chunk = await this.chunk(position).catch((error: unknown) => {
        if (!(error instanceof DatabaseFault)) throw error;
        return new EventChunk([]);
      });
      if (chunk.entries.length > 0) return chunk;
      await sleep(RETRY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
    return new EventChunk([]);
  }

  private chunk(position: number): Promise<EventChunk> {
    const cached = this.chunks.get(position);
    if (cached !== undefined) return cached;
    const chunk = this.read(position);
    this.chunks.set(position, chunk);
    setTimeout(() => this.chunks.delete(position), FRESH).unref();
    const [oldest] = this.chunks.keys();
    if (oldest !== undefined && this.chunks.size > MAX_CHUNKS) this.chunks.delete(oldest);
    return chunk;
  }

  private async read(position: number): Promise<EventChunk> {
    try {
      const { rows } = await this.entries.page(pageAfter(position, []));
      if (rows.length === 0) this.chunks.delete(position);
      return new EventChunk(rows);
    } catch (error) {
      this.chunks.delete(position);
      throw error;
    }
  }
}

/** Requests a page of entries after a sequence, without a total. */
export function pageAfter(position: number, conditions: readonly Condition[]): PageRequest {
  return { conditions, limit: CHUNK_SIZE, offset: 0, order: 'asc', position, total: 0 };
}

/**
 * Consecutive entries as events. Each is rendered once, and those of one filter are joined once for all its readers.
 */
export class EventChunk {
  private readonly texts = new Map<ParsedListedEntry, string>();
  private readonly byFilter = new Map<string, Buffer>();

  constructor(readonly entries: readonly ParsedListedEntry[]) {}

  /** Sequence of the last entry; 0 if the chunk is empty. */
  get last(): number {
    return this.entries.at(-1)?.sequence ?? 0;
  }

  /** True if more entries may follow at once. */
  get isFull(): boolean {
    return this.entries.length >= CHUNK_SIZE;
  }

  /** Returns the text of the entries that match the filter. */
  bytes(filter: EventFilter): Buffer {
    const name = JSON.stringify(filter);
    const bytes = this.byFilter.get(name) ?? this.rendered(filter);
    this.byFilter.set(name, bytes);
    return bytes;
  }

  private rendered(filter: EventFilter): Buffer {
    const chosen = this.entries.filter((entry) => matchesFilter(filter, entry));
    return Buffer.from(chosen.map((entry) => this.text(entry)).join(''));
  }

  private text(entry: ParsedListedEntry): string {
    const text = this.texts.get(entry) ?? eventText(entry);
    this.texts.set(entry, text);
    return text;
  }
}

function eventText(entry: ParsedListedEntry): string {
  const data = JSON.stringify(AuditEntryResponse.from(entry));
  return `id: ${entry.sequence}\nevent: ${entry.action}\ndata: ${data}\n\n`;
}
