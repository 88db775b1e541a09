import { Injectable } from '@nestjs/common';
import { staleCallerError } from '../responses/response-end';
import type { Caller } from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { EntryReader } from '../../ledger/reading/entry-reader';
import { Gate } from '../../core/concurrency/gate';
import { Gates, callerKey } from '../gates';
import { ShutdownGuard } from '../server/shutdown';
import { AsOfQuery } from './as-of.query';
import { WholeRequest } from '../validation/dto';
import { QueryInteger } from '../validation/query-fields';

interface Readable<Row> {
  readonly read: () => Promise<Row>;
  /** True if the record is still open, so that the request waits. */
  readonly isOpen: (row: Row) => boolean;
}

/** A record that may change, and how long to wait for the change. */
interface Settlement<Row> extends Readable<Row> {
  /** Id of the record, which changes only with an entry that names it. Absent if any entry may be relevant. */
  readonly id?: string;
  readonly seconds: number;
  /** Aborted when nobody waits any more: the client has left, or is no longer admitted. */
  readonly signal: AbortSignal;
}

/** The wait of a request. */
interface Wait<Row> extends Omit<Settlement<Row>, 'seconds'> {
  readonly caller: Caller;
  /** Seconds to wait; undefined if the request does not wait. */
  readonly seconds: number | undefined;
}

/** Most new entries whose subjects are read; after more entries, each wait reads its own record. */
const MAX_ENTRIES = 1_000;

/**
 * Limits the waits that read records at the same time: one commit may wake hundreds, whose responses would be made
 * without a pause.
 */
const READINGS = { label: 'waits that read', most: 10, mostEach: 10, mostWaiting: Infinity, longest: Infinity };

/** Ids of the records that the entries after one sequence, up to another, name. */
interface RecordNames {
  readonly after: number;
  readonly upTo: number;
  readonly ids: Promise<ReadonlySet<string>>;
}

/**
 * Requests that wait until a record has changed. A wait costs nothing but its connection: the subjects of new entries
 * are read once for all waits, and a record is read again only when an entry names it.
 */
@Injectable()
export class RecordWaiter {
  private latest: RecordNames | null = null;
  private readonly readings = new Gate(READINGS);

  constructor(
    private readonly ledger: LedgerService,
    private readonly entries: EntryReader,
    private readonly gate: ShutdownGuard,
    private readonly gates: Gates,
  ) {}

  /**
   * Returns the record once it is no longer open. Returns its current state when the time is over, the client leaves,
   * the service stops, or there are too many waits already.
   * @throws UNAUTHORIZED or PERMISSION_DENIED if the caller's key or token ends meanwhile, or its agent is suspended
   */
  async waitForChange<Row>(wait: Wait<Row>): Promise<Row> {
    const { caller, seconds, signal, read } = wait;
    if (seconds === undefined) return read();
    const { sequence } = this.ledger.head;
    const first = await readSettled(wait);
    if (first !== null) return first.row;
    const pass = this.gates.get('waits').tryEnter(callerKey(caller));
    if (pass === null) return read();
    try {
      const settled = await this.changed(sequence, wait, seconds, [signal, this.gate.signal]);
      const end = staleCallerError(caller);
      if (end !== null) throw end;
      return settled;
    } finally {
      pass.leave();
    }
  }

  /**
   * Waits for a record on which the response depends. The client did not ask for this wait, so it does not count
   * against the limit.
   */
  async settled<Row>(settlement: Settlement<Row>): Promise<Row> {
    const { seconds, signal } = settlement;
    const { sequence } = this.ledger.head;
    const first = await readSettled(settlement);
    return first === null ? this.changed(sequence, settlement, seconds, [signal]) : first.row;
  }

  /**
   * Reads again whenever the ledger may have changed the record, and once more when the time is over or a signal is
   * aborted. Does not hold the open record meanwhile: many waits for large records would fill the memory.
   * @param since sequence of an entry after which the record was read
   */
  private async changed<Row>(
    since: number,
    { id, read: readNow, isOpen }: Readable<Row> & Pick<Settlement<Row>, 'id'>,
    seconds: number,
    signals: readonly AbortSignal[],
  ): Promise<Row> {
    // `AbortSignal.any` would leave listeners behind on signals that outlive the wait.
    const over = new AbortController();
    const end = (): void => over.abort();
    const read = (): Promise<Row> => this.readings.run('', readNow);
    const timer = setTimeout(end, seconds * 1000);
    for (const signal of signals) signal.addEventListener('abort', end);
    if (signals.some(({ aborted }) => aborted)) end();
    try {
      for (let after = since; ;) {
        await this.ledger.waitBeyond(after, over.signal);
        if (over.signal.aborted) return await read();
        const { sequence } = this.ledger.head;
        const settled = (await this.mayChange(id, after, sequence)) ? await readSettled({ read, isOpen }) : null;
        if (settled !== null) return settled.row;
        after = sequence;
      }
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
      // A failure ends the current waits; later ones read anew.
      ids.catch(() => (this.latest = null));
    }
    return (await this.latest.ids).has(id);
  }
}

/** Reads the record; null if it is open. */
async function readSettled<Row>({ read, isOpen }: Readable<Row>): Promise<{ readonly row: Row } | null> {
  const row = await read();
  return isOpen(row) ? null : { row };
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
