import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseFault } from '../../ledger/database/database-fault';
import { LedgerService } from '../../ledger/ledger.service';
import { EntryReader, type ParsedListedEntry } from '../../ledger/reading/entry-reader';
import type { Condition, PageRequest } from '../../ledger/kinds/record-page';
import { AuditEntryResponse } from '../audit/dto/audit-entry.response';
import { type EventFilter, matchesFilter } from './event-filter';

/** Most entries read at once. */
const CHUNK = 250;
/** Milliseconds after which a failed read is retried. */
const RETRY = 500;
/** The most chunks that are kept for those who come to them a little later. */
const MAX_CHUNKS = 8;
/** Milliseconds for which what was read may be handed on. Then it is read again: an erasure may have taken its contents. */
export const FRESH = 1_000;

/** New entries, whichever process wrote them: read once for all in this process who are at the same place. */
@Injectable()
export class EntryTail {
  /** By the position before each, in order of reading. */
  private readonly chunks = new Map<number, Promise<EventChunk>>();

  constructor(
    private readonly entries: EntryReader,
    private readonly ledger: LedgerService,
  ) {}

  /**
   * The entries after a position, as soon as there are any; none once the signal is aborted. An unavailable database is
   * waited for.
   */
  async readAfter(position: number, over: AbortSignal): Promise<EventChunk> {
    while (!over.aborted) {
      await this.ledger.waitBeyond(position, over);
      const chunk = await this.chunk(position).catch((error: unknown) => {
        if (!(error instanceof DatabaseFault)) throw error;
        return new EventChunk([]);
      });
      if (chunk.entries.length > 0) return chunk;
      await sleep(RETRY, undefined, { signal: over, ref: false }).catch(() => undefined);
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

/** A page of entries after a sequence, without a total. */
export function pageAfter(position: number, conditions: readonly Condition[]): PageRequest {
  return { conditions, limit: CHUNK, offset: 0, order: 'asc', position, total: 0 };
}

/**
 * Consecutive entries as events: each is rendered once, and those of one filter are joined once for all its readers.
 */
export class EventChunk {
  private readonly texts = new Map<ParsedListedEntry, string>();
  private readonly byFilter = new Map<string, Buffer>();

  constructor(readonly entries: readonly ParsedListedEntry[]) {}

  /** Sequence of its last entry; 0 if it is empty. */
  get last(): number {
    return this.entries.at(-1)?.sequence ?? 0;
  }

  /** Whether others may follow at once. */
  get isFull(): boolean {
    return this.entries.length >= CHUNK;
  }

  /** The entries that match the filter. */
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
