import { Injectable, Logger } from '@nestjs/common';
import { invalidField, unavailable } from '../../core/errors/domain-error';
import type { EventStream } from '../../http/responses/event-stream';
import { ShutdownGuard } from '../../http/server/shutdown';
import { Gates, callerKey } from '../../http/gates';
import type { Caller } from '../../ledger/kinds/caller';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { EntryReader } from '../../ledger/reading/entry-reader';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { EventFilter } from './event-filter';
import { EventReader, type EventSource } from './event-reader';
import { EntryTail } from './entry-tail';

/** Seconds after which a client may retry if too many streams are open. */
const RETRY_AFTER_SECONDS = 5;

/** The request of an event stream. */
interface EventsRequest {
  readonly filter: EventFilter;
  readonly after?: number | undefined;
  /** Takes precedence over `after`. */
  readonly lastEventId?: number | undefined;
}

/** Streams of events. Each lasts until its client leaves, its caller is no longer admitted, or the service stops. */
@Injectable()
export class EventsService {
  private readonly logger = new Logger('Events');
  private readonly source: EventSource;

  constructor(
    private readonly gates: Gates,
    records: RecordReader,
    private readonly counters: CounterReader,
    private readonly gate: ShutdownGuard,
    entries: EntryReader,
    live: EntryTail,
  ) {
    this.source = { records, entries, counters, live };
  }

  /**
   * Sends the requested events until the stream is over.
   * @throws VALIDATION_ERROR for a position beyond the head; UNAVAILABLE if too many streams are open
   */
  async begin(caller: Caller, request: EventsRequest, stream: EventStream): Promise<void> {
    const head = await this.counters.headSequence();
    const after = startSequence(request, head);
    if (this.gate.isClosed) throw unavailable('The service is stopping.');
    if (stream.signal.aborted) return;
    const pass = this.gates.get('eventStreams').tryEnter(callerKey(caller));
    if (pass === null) throw unavailable('Too many event streams are open.', RETRY_AFTER_SECONDS);
    stream.signal.addEventListener('abort', () => pass.leave(), { once: true });
    this.gate.signal.addEventListener('abort', () => stream.end(), { once: true, signal: stream.signal });
    stream.open({ 'X-Head-Sequence': String(head) });
    void this.serve(new EventReader(this.source, request.filter, after, stream), stream);
  }

  private async serve(reader: EventReader, stream: EventStream): Promise<void> {
    try {
      await reader.read();
    } catch (error) {
      this.logger.error({ err: error }, 'An event stream was cut short.');
      stream.abort();
    }
  }
}

/** Returns the sequence after which a stream begins. */
function startSequence({ lastEventId, after }: EventsRequest, head: number): number {
  const start = lastEventId ?? after ?? head;
  if (start <= head) return start;
  const field = lastEventId === undefined ? 'query.after' : 'header.Last-Event-ID';
  throw invalidField(field, `must not be beyond the last event, which is ${head}`);
}
