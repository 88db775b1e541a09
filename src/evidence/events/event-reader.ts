import { setImmediate as nextTurn } from 'node:timers/promises';
import { hasAgentId, withAgentId } from '../../governance/agents/find-agent';
import type { EventStream } from '../../http/responses/event-stream';
import type { CounterReader } from '../../ledger/reading/counter-reader';
import type { EntryReader } from '../../ledger/reading/entry-reader';
import type { RecordReader } from '../../ledger/reading/record-reader';
import { conditionsOfFilter, type EventFilter } from './event-filter';
import { EventChunk, type EntryTail, pageAfter } from './entry-tail';

/** Sources of entries: past ones, and new ones as they are written. */
export interface EventSource {
  readonly records: RecordReader;
  readonly entries: EntryReader;
  readonly counters: CounterReader;
  readonly live: EntryTail;
}

/** A reader of events: it reads past entries at its own pace, then follows new ones together with all others. */
export class EventReader {
  /**
   * @param filter may name its agent by id or by name, even before it exists; `catchUp` replaces the name by the id
   * @param position sequence after which the events begin
   */
  constructor(
    private readonly source: EventSource,
    private filter: EventFilter,
    private position: number,
    private readonly stream: EventStream,
  ) {}

  /** Resolves when the stream is over. */
  async read(): Promise<void> {
    while (!this.isOver) {
      await this.catchUp();
      await this.follow();
    }
  }

  private get isOver(): boolean {
    return this.stream.signal.aborted;
  }

  /** Sends new entries until the stream ends, or an agent was created that the filter may name. */
  private async follow(): Promise<void> {
    while (!this.isOver) {
      const chunk = await this.source.live.readAfter(this.position, this.stream.signal);
      if (this.mayHaveCreatedAgent(chunk)) return;
      const bytes = chunk.bytes(this.filter);
      this.position = Math.max(this.position, chunk.last);
      if (bytes.length > 0) this.stream.send(bytes);
      // Lets the sockets take the data that was written before.
      await nextTurn();
    }
  }

  /** True if an agent was created while the filter still has a name instead of an id. */
  private mayHaveCreatedAgent({ entries }: EventChunk): boolean {
    return !hasAgentId(this.filter) && entries.some(({ action }) => action === 'agent.created');
  }

  /** Sends everything committed so far. */
  private async catchUp(): Promise<void> {
    const { records, entries, counters } = this.source;
    const head = await counters.headSequence();
    // Read after the head: if the agent does not exist yet, no entry up to the head concerns it.
    this.filter = await withAgentId(records, this.filter, 'agentId');
    const { filter } = this;
    const conditions = conditionsOfFilter(filter);
    for (let more = true; more && !this.isOver;) {
      const page = await entries.page(pageAfter(this.position, conditions));
      const chunk = new EventChunk(page.rows);
      const bytes = chunk.bytes(filter);
      ({ more } = page);
      this.position = Math.max(this.position, chunk.last, more ? 0 : head);
      if (bytes.length > 0) await this.stream.sendInTime(bytes);
    }
  }
}
