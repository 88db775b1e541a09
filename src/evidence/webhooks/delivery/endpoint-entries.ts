import { steadyTime } from '../../../core/concurrency/steady-time';
import { FRESH, type EntryTail, pageAfter } from '../../events/entry-tail';
import { conditionsOfFilter, type EventFilter, matchesFilter } from '../../events/event-filter';
import type { CounterReader } from '../../../ledger/reading/counter-reader';
import type { ParsedListedEntry, EntryReader } from '../../../ledger/reading/entry-reader';
import type { RecordHistory } from '../../../ledger/record-history';
import { filterOf, WEBHOOK } from '../webhook.entity';

/** The process's services for reading the entries of an endpoint. */
export interface EntrySources {
  readonly entries: EntryReader;
  readonly counters: CounterReader;
  readonly live: EntryTail;
  readonly past: RecordHistory;
  /**
   * Resolves when every delivery has the current state of its webhook, and those that must not continue have been
   * stopped.
   */
  readonly refresh: (signal: AbortSignal) => Promise<void>;
}

/** Owner and beginning of the entries. */
interface EntryRange {
  readonly webhookId: string;
  /** Sequence after which they begin. */
  readonly after: number;
  /** Sequence of the filter that also applies to earlier entries, because the webhook was created or replayed then. */
  readonly firstFilterAt: number;
}

/**
 * The entries that concern one endpoint, in order. Each is selected by the filter that was in force when it was
 * written. The ledger has all past filters, so the result does not depend on who reads, and when.
 */
export class EndpointEntries {
  private readonly waiting: ParsedListedEntry[] = [];
  private filter: EventFilter = {};
  private read: number;
  /** Time by the steady clock when the waiting entries were read. */
  private readAt = 0;
  /** True if the last entry that was read is a change of the webhook, after which another filter may apply. */
  private isAtChange = false;
  private isLive = false;

  constructor(
    private readonly sources: EntrySources,
    private readonly range: EntryRange,
    private readonly over: AbortSignal,
  ) {
    this.read = range.after;
  }

  /** Sequence up to which all entries have been read. */
  get position(): number {
    return this.read;
  }

  /** Returns the next entry; undefined if more must be read. */
  shift(): ParsedListedEntry | undefined {
    return this.waiting.shift();
  }

  /** Returns an entry as it is now, because its contents may have been erased while it waited. */
  async current(entry: ParsedListedEntry): Promise<ParsedListedEntry> {
    if (steadyTime() - this.readAt < FRESH) return entry;
    const { rows } = await this.sources.entries.page({ ...pageAfter(entry.sequence - 1, []), limit: 1 });
    const [current] = rows;
    if (current?.sequence !== entry.sequence) throw new Error(`The entry ${entry.sequence} is gone.`);
    return current;
  }

  /** Reads committed entries, or waits for new ones; afterwards `shift` may return some. */
  async readOn(): Promise<void> {
    if (this.isLive) await this.readNew();
    else await this.readCommitted();
  }

  private async readNew(): Promise<void> {
    const { webhookId } = this.range;
    const { entries, last, isFull } = await this.sources.live.readAfter(this.read, this.over);
    const change = entries.find(({ subjectId, sequence }) => subjectId === webhookId && sequence > this.filterAt);
    this.accept(entries, last, change?.sequence ?? Infinity);
    // If the endpoint is far behind, the database selects its entries by the filter.
    this.isLive = !this.isAtChange && !isFull;
  }

  private async readCommitted(): Promise<void> {
    const { entries, counters, refresh } = this.sources;
    // Entries after a change are sent to the URL, and signed with the secrets, of the changed webhook.
    if (this.isAtChange) await refresh(this.over);
    this.filter = await this.filterOfNext();
    const head = await counters.headSequence();
    const page = await entries.page(pageAfter(this.read, conditionsOfFilter(this.filter)));
    // Read after the page, so that no change among its entries is missed.
    const change = await this.nextChange();
    this.accept(page.rows, page.more ? (page.rows.at(-1)?.sequence ?? 0) : head, change);
    this.isLive = this.waiting.length === 0 && !this.isAtChange;
  }

  /** @param upTo sequence up to which all entries that the filter selects were read */
  private accept(entries: readonly ParsedListedEntry[], upTo: number, change: number): void {
    const end = Math.min(Math.max(this.read, upTo), change);
    const isNew = ({ sequence }: ParsedListedEntry): boolean => sequence > this.read && sequence <= end;
    const matching = entries.filter((entry) => isNew(entry) && matchesFilter(this.filter, entry));
    this.waiting.push(...matching);
    this.readAt = steadyTime();
    this.read = end;
    this.isAtChange = end === change;
  }

  /** Sequence at which the webhook's state has the filter for the next entry. */
  private get filterAt(): number {
    return Math.max(this.read, this.range.firstFilterAt);
  }

  private async filterOfNext(): Promise<EventFilter> {
    const { webhookId } = this.range;
    const webhook = await this.sources.past.findAfter(WEBHOOK, webhookId, this.filterAt);
    if (webhook === undefined) throw new Error(`The ledger does not say what ${webhookId} is to receive.`);
    return filterOf(webhook);
  }

  /** Returns the sequence of the next change of the webhook; infinite if there is none. */
  private async nextChange(): Promise<number> {
    const ofWebhook = { column: 'subjectId', comparison: 'equals', value: this.range.webhookId } as const;
    const { rows } = await this.sources.entries.page({ ...pageAfter(this.filterAt, [ofWebhook]), limit: 1 });
    return rows[0]?.sequence ?? Infinity;
  }
}
