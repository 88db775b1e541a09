import { steadyTime } from '../../../core/concurrency/steady-time';
import { FRESH, type EntryTail, pageAfter } from '../../events/entry-tail';
import { conditionsOfFilter, type EventFilter, matchesFilter } from '../../events/event-filter';
import type { CounterReader } from '../../../ledger/reading/counter-reader';
import type { ParsedListedEntry, EntryReader } from '../../../ledger/reading/entry-reader';
import type { RecordHistory } from '../../../ledger/record-history';
import { filterOf, WEBHOOK } from '../webhook.entity';

/** What reading the entries of an endpoint needs from the process. */
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

/** Whose entries, and from where. */
interface EntryRange {
  readonly webhookId: string;
  /** The sequence after which they begin. */
  readonly after: number;
  /** The filter of this moment also applies to earlier entries, as the webhook was created or replayed then. */
  readonly firstFilterAt: number;
}

/**
 * The entries that concern one endpoint, in order. Each is chosen by the filter that was in force when it was written.
 * The ledger has all past filters, so the result does not depend on who reads, and when.
 */
export class EndpointEntries {
  private readonly waiting: ParsedListedEntry[] = [];
  private filter: EventFilter = {};
  private read: number;
  /** By the steady clock: when those that wait were read. */
  private readAt = 0;
  /** Whether the last entry that was read is a change of the webhook: what follows may need another filter. */
  private isAtChange = false;
  private isLive = false;

  constructor(
    private readonly sources: EntrySources,
    private readonly range: EntryRange,
    private readonly over: AbortSignal,
  ) {
    this.read = range.after;
  }

  /** All entries up to this sequence have been read. */
  get position(): number {
    return this.read;
  }

  /** The next one that was read; undefined: read on. */
  shift(): ParsedListedEntry | undefined {
    return this.waiting.shift();
  }

  /** An entry as it is now: what waited for its delivery may have been erased meanwhile. */
  async current(entry: ParsedListedEntry): Promise<ParsedListedEntry> {
    if (steadyTime() - this.readAt < FRESH) return entry;
    const { rows } = await this.sources.entries.page({ ...pageAfter(entry.sequence - 1, []), limit: 1 });
    const [current] = rows;
    if (current?.sequence !== entry.sequence) throw new Error(`The entry ${entry.sequence} is gone.`);
    return current;
  }

  /** Reads committed entries, or waits for new ones: afterwards there may be some. */
  async readOn(): Promise<void> {
    if (this.isLive) await this.readNew();
    else await this.readCommitted();
  }

  private async readNew(): Promise<void> {
    const { webhookId } = this.range;
    const { entries, last, isFull } = await this.sources.live.readAfter(this.read, this.over);
    const change = entries.find(({ subjectId, sequence }) => subjectId === webhookId && sequence > this.filterAt);
    this.accept(entries, last, change?.sequence ?? Infinity);
    // Far behind, it reads no more than the filter chooses.
    this.isLive = !this.isAtChange && !isFull;
  }

  private async readCommitted(): Promise<void> {
    const { entries, counters, refresh } = this.sources;
    // What was written after a change is sent to the URL, and signed with the secrets, of the changed webhook.
    if (this.isAtChange) await refresh(this.over);
    this.filter = await this.filterOfNext();
    const head = await counters.headSequence();
    const page = await entries.page(pageAfter(this.read, conditionsOfFilter(this.filter)));
    // After the page, so that no change among its entries is missed.
    const change = await this.nextChange();
    this.accept(page.rows, page.more ? (page.rows.at(-1)?.sequence ?? 0) : head, change);
    this.isLive = this.waiting.length === 0 && !this.isAtChange;
  }

  /** @param upTo the sequence up to which all entries that the filter chooses were read. */
  private accept(entries: readonly ParsedListedEntry[], upTo: number, change: number): void {
    const end = Math.min(Math.max(this.read, upTo), change);
    const isNew = ({ sequence }: ParsedListedEntry): boolean => sequence > this.read && sequence <= end;
    const matching = entries.filter((entry) => isNew(entry) && matchesFilter(this.filter, entry));
    this.waiting.push(...matching);
    this.readAt = steadyTime();
    this.read = end;
    this.isAtChange = end === change;
  }

  /** The sequence at which the webhook's state has the filter for the next entry. */
  private get filterAt(): number {
    return Math.max(this.read, this.range.firstFilterAt);
  }

  private async filterOfNext(): Promise<EventFilter> {
    const { webhookId } = this.range;
    const webhook = await this.sources.past.findAfter(WEBHOOK, webhookId, this.filterAt);
    if (webhook === undefined) throw new Error(`The ledger does not say what ${webhookId} is to receive.`);
    return filterOf(webhook);
  }

  /** Sequence of the next change of the webhook; infinite: there is none. */
  private async nextChange(): Promise<number> {
    const ofWebhook = { column: 'subjectId', comparison: 'equals', value: this.range.webhookId } as const;
    const { rows } = await this.sources.entries.page({ ...pageAfter(this.filterAt, [ofWebhook]), limit: 1 });
    return rows[0]?.sequence ?? Infinity;
  }
}
