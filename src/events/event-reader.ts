import { endOf } from '../http/answers/caller-end';
import type { EventStream } from '../http/answers/event-stream';
import type { Caller } from '../ledger/caller';
import type { CounterReader } from '../ledger/reading/counter-reader';
import type { EntryReader } from '../ledger/reading/entry-reader';
import { conditionsOfFilter, type EventFilter } from './event-filter';
import { EventChunk } from './event-chunk';
import { type EntryFollower, type LiveEntries, pageAfter } from './live-entries';

/** Sources of entries: past ones, and new ones as they are written. */
export interface EventSource {
  readonly entries: EntryReader;
  readonly counters: CounterReader;
  readonly live: LiveEntries;
}

/** Who reads which events, and from where. */
export interface EventReading {
  readonly caller: Caller;
  readonly filter: EventFilter;
  readonly after: number;
  readonly stream: EventStream;
}

/** One reader of events: it reads past entries at its own pace, then follows new ones together with all others. */
export class EventReader implements EntryFollower {
  private position: number;

  constructor(
    private readonly source: EventSource,
    private readonly reading: EventReading,
  ) {
    this.position = reading.after;
  }

  /** Resolves when the stream is over. */
  async read(): Promise<void> {
    const { stream } = this.reading;
    const { live } = this.source;
    do {
      await this.catchUp();
      if (stream.signal.aborted) return;
    } while (!live.join(this, this.position));
    await new Promise<void>((resolve) => stream.signal.addEventListener('abort', () => resolve(), { once: true }));
    live.leave(this);
  }

  /** To be called periodically: ends the stream of a caller that is no longer admitted. */
  check(): void {
    const { caller, stream } = this.reading;
    if (endOf(caller) !== null) stream.end();
    else stream.keepAlive();
  }

  take(chunk: EventChunk): void {
    const bytes = chunk.bytes(this.reading.filter, this.position);
    this.position = Math.max(this.position, chunk.last);
    if (bytes.length > 0) this.reading.stream.send(bytes);
  }

  abort(): void {
    this.reading.stream.abort();
  }

  /** Sends what has been committed so far. */
  private async catchUp(): Promise<void> {
    const { filter, stream } = this.reading;
    const { entries, counters } = this.source;
    const head = await counters.headSequence();
    const conditions = conditionsOfFilter(filter);
    for (let more = true; more && !stream.signal.aborted;) {
      const page = await entries.page(pageAfter(this.position, conditions));
      const chunk = new EventChunk(page.rows);
      const bytes = chunk.bytes(filter, this.position);
      ({ more } = page);
      this.position = Math.max(this.position, chunk.last, more ? 0 : head);
      if (bytes.length > 0) await stream.sendInTime(bytes);
    }
  }
}
