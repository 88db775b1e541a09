import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DatabaseFault } from '../../ledger/database/database-fault';
import { LedgerTail } from '../../ledger/ledger-tail';
import { EntryReader, type AnsweredListedEntry } from '../../ledger/reading/entry-reader';
import type { Condition, PageRequest } from '../../ledger/record-page';
import { SingleFlight } from '../../core/concurrency/single-flight';
import { AuditEntryResponse } from '../audit/dto/audit-entry.response';
import { type EventFilter, matchesFilter } from './event-filter';

/** Most entries read at once. */
const CHUNK = 250;
/** Milliseconds after which a failed read is retried. */
const RETRY = 500;

/** A consumer of entries as they are written. */
export interface EntryFollower {
  take(chunk: EventChunk): void;
  /** An entry cannot be read: nothing follows. */
  abort(): void;
}

/** New entries, whichever process wrote them: read once for all followers in this process. */
@Injectable()
export class LiveEntries implements OnModuleDestroy {
  private readonly logger = new Logger('Events');
  private readonly followers = new Set<EntryFollower>();
  private readonly readings = new SingleFlight<never, void>(() => this.read());
  /** Sequence of the last entry that was passed on. */
  private position = 0;
  private endTail: (() => void) | null = null;
  private retry: NodeJS.Timeout | null = null;

  constructor(
    private readonly entries: EntryReader,
    private readonly tail: LedgerTail,
  ) {}

  /**
   * From now on the follower gets the entries after the position; returns false if others have already got some of
   * them.
   */
  join(follower: EntryFollower, position: number): boolean {
    if (this.followers.size > 0 && position < this.position) return false;
    if (this.followers.size === 0) this.position = position;
    this.followers.add(follower);
    this.endTail ??= this.tail.onGrowth(() => this.readMore());
    // The tail only reports later growth.
    this.readMore();
    return true;
  }

  leave(follower: EntryFollower): void {
    this.followers.delete(follower);
    if (this.followers.size === 0) this.stop();
  }

  async onModuleDestroy(): Promise<void> {
    this.stop();
    await this.readings.ended();
  }

  private stop(): void {
    this.endTail?.();
    this.endTail = null;
    if (this.retry !== null) clearTimeout(this.retry);
    this.retry = null;
  }

  private readMore(): void {
    this.readings.call(0).catch((error: unknown) => this.onFailure(error));
  }

  private async read(): Promise<void> {
    for (let more = true; more && this.followers.size > 0;) {
      const began = this.position;
      const page = await this.entries.page(pageAfter(began, []));
      const last = page.rows.at(-1);
      // By now, followers at another position may have replaced these.
      if (last === undefined || this.position !== began) return;
      this.position = last.sequence;
      const chunk = new EventChunk(page.rows);
      for (const follower of [...this.followers]) follower.take(chunk);
      ({ more } = page);
      // Let the sockets take what was written before reading more.
      if (more) await nextTurn();
    }
  }

  /**
   * An unavailable database comes back. Damage does not go away, so followers are not left waiting for what comes after
   * it.
   */
  private onFailure(error: unknown): void {
    if (error instanceof DatabaseFault) {
      this.logger.debug(`New entries cannot be read now: ${String(error)}`);
      if (this.followers.size > 0) this.retry ??= setTimeout(() => this.readAgain(), RETRY).unref();
      return;
    }
    this.logger.error({ err: error }, 'New entries cannot be read: event streams are closed.');
    for (const follower of [...this.followers]) follower.abort();
  }

  private readAgain(): void {
    this.retry = null;
    this.readMore();
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
  private readonly texts = new Map<AnsweredListedEntry, string>();
  private readonly byFilter = new Map<string, Buffer>();

  constructor(readonly entries: readonly AnsweredListedEntry[]) {}

  /** Sequence of its last entry; 0 if it is empty. */
  get last(): number {
    return this.entries.at(-1)?.sequence ?? 0;
  }

  /** The entries after a sequence that match the filter. */
  bytes(filter: EventFilter, after: number): Buffer {
    if (after >= (this.entries[0]?.sequence ?? 0)) return this.rendered(filter, after);
    const name = JSON.stringify(filter);
    const bytes = this.byFilter.get(name) ?? this.rendered(filter, after);
    this.byFilter.set(name, bytes);
    return bytes;
  }

  private rendered(filter: EventFilter, after: number): Buffer {
    const chosen = this.entries.filter((entry) => entry.sequence > after && matchesFilter(filter, entry));
    return Buffer.from(chosen.map((entry) => this.text(entry)).join(''));
  }

  private text(entry: AnsweredListedEntry): string {
    const text = this.texts.get(entry) ?? textOf(entry);
    this.texts.set(entry, text);
    return text;
  }
}

function textOf(entry: AnsweredListedEntry): string {
  const data = JSON.stringify(AuditEntryResponse.from(entry));
  return `id: ${entry.sequence}\nevent: ${entry.action}\ndata: ${data}\n\n`;
}
