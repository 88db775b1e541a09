import { Injectable } from '@nestjs/common';
import { staleCallerError } from '../responses/response-end';
import type { Caller } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { EntryReader } from '../../ledger/reading/entry-reader';
import { Gates, callerKey } from '../gates';
import { ShutdownGuard } from '../shutdown/shutdown';
import { AsOfQuery } from '../as-of/as-of.query';
import { WholeRequest } from '../validation/dto';
import { QueryInteger } from '../validation/query-fields';

/** A record that may change, and for how long something waits for that. */
interface Settlement<Row> {
  /** The record's id: it changes only with an entry that names it. Absent: any entry may change what is waited for. */
  readonly id?: string;
  readonly read: () => Promise<Row>;
  /** Whether there is anything left to wait for. */
  readonly isOpen: (row: Row) => boolean;
  readonly seconds: number;
  /** Aborted when nobody waits for it any more: its client has left, or is no longer admitted. */
  readonly signal: AbortSignal;
}

/** What a request waits for. */
interface Wait<Row> extends Omit<Settlement<Row>, 'seconds'> {
  readonly caller: Caller;
  /** Undefined: it does not wait. */
  readonly seconds: number | undefined;
}

/** Most new entries whose subjects are read: after more, each wait reads its own record. */
const MAX_ENTRIES = 1_000;

/** The records that the entries after one sequence, up to another, name. */
interface RecordNames {
  readonly after: number;
  readonly upTo: number;
  readonly ids: Promise<ReadonlySet<string>>;
}

/**
 * Requests that wait until a record has changed. A wait costs nothing but its connection: the subjects of new entries are
 * read once for all waits, and a record is read again only when an entry names it.
 */
@Injectable()
export class RecordWaiter {
  private latest: RecordNames | null = null;

  constructor(
    private readonly ledger: LedgerService,
    private readonly entries: EntryReader,
    private readonly gate: ShutdownGuard,
    private readonly gates: Gates,
  ) {}

  /**
   * The record once nothing is open about it any more; in its current state when the time is over, the client leaves,
   * the service stops, or there are too many waits already.
   * @throws UNAUTHORIZED or PERMISSION_DENIED when the caller's key or token ends meanwhile, or its agent is suspended.
   */
  async waitForChange<Row>(wait: Wait<Row>): Promise<Row> {
    const { caller, seconds, signal, read, isOpen } = wait;
    const { sequence } = this.ledger.head;
    const row = await read();
    if (seconds === undefined || !isOpen(row)) return row;
    const pass = this.gates.of('waits').tryEnter(callerKey(caller));
    if (pass === null) return row;
    try {
      const settled = await this.changed({ row, sequence }, wait, seconds, [signal, this.gate.signal]);
      const end = staleCallerError(caller);
      if (end !== null) throw end;
      return settled;
    } finally {
      pass.leave();
    }
  }

  /**
   * Waits for something that the answer depends on and that the client did not ask to wait for, so it does not count
   * against the limit.
   */
  async settled<Row>(settlement: Settlement<Row>): Promise<Row> {
    const { seconds, signal, read } = settlement;
    const { sequence } = this.ledger.head;
    return this.changed({ row: await read(), sequence }, settlement, seconds, [signal]);
  }

  /**
   * Reads again whenever the ledger may have changed the record, and once more when the time is over or a signal is aborted.
   * @param first the row, and the sequence of an entry that it is no older than
   */
  private async changed<Row>(
    first: { readonly row: Row; readonly sequence: number },
    { id, read, isOpen }: Pick<Settlement<Row>, 'id' | 'read' | 'isOpen'>,
    seconds: number,
    signals: readonly AbortSignal[],
  ): Promise<Row> {
    // Not `AbortSignal.any`, which would leave listeners behind on signals that outlive the wait.
    const over = new AbortController();
    const end = (): void => over.abort();
    const timer = setTimeout(end, seconds * 1000);
    for (const signal of signals) signal.addEventListener('abort', end);
    if (signals.some(({ aborted }) => aborted)) end();
    try {
      let { row, sequence } = first;
      for (let isLast = false; isOpen(row) && !isLast;) {
        await this.ledger.waitBeyond(sequence, over.signal);
        isLast = over.signal.aborted;
        const after = sequence;
        ({ sequence } = this.ledger.head);
        if (isLast || (await this.mayChange(id, after, sequence))) row = await read();
      }
      return row;
    } finally {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', end);
    }
  }

  private async mayChange(id: string | undefined, after: number, upTo: number): Promise<boolean> {
    if (id === undefined || upTo - after > MAX_ENTRIES) return true;
    if (this.latest?.after !== after || this.latest.upTo !== upTo) {
      const ids = this.entries.subjectsBetween(after, upTo);
      this.latest = { after, upTo, ids };
      // A failure ends the waits of now; later ones read anew.
      ids.catch(() => (this.latest = null));
    }
    return (await this.latest.ids).has(id);
  }
}

@WholeRequest(({ wait, asOf }) =>
  wait === undefined || asOf === undefined
    ? []
    : [{ field: 'query.asOf', message: 'cannot be combined with wait: the past does not change' }],
)
export class WaitQuery extends AsOfQuery {
  @QueryInteger({
    min: 1,
    max: 60,
    description: 'Answers as soon as there is nothing left to wait for, or after this many seconds.',
  })
  readonly wait?: number;
}
