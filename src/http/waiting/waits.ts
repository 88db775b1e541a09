import { Injectable } from '@nestjs/common';
import { endOf } from '../answers/answer-end';
import type { Caller } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { Gates, nameOf } from '../gates';
import { ShutdownGuard } from '../shutdown/shutdown';
import { AsOfQuery } from '../as-of/as-of.query';
import { WholeRequest } from '../validation/dto';
import { QueryInteger } from '../validation/query-fields';

/** A record that may change, and for how long something waits for that. */
interface Settlement<Row> {
  readonly read: () => Promise<Row>;
  /** Whether there is anything left to wait for. */
  readonly isOpen: (row: Row) => boolean;
  readonly seconds: number;
  /** Aborted when nobody waits for it any more: its client has left, or is no longer admitted. */
  readonly leaving: AbortSignal;
}

/** What a request waits for. */
interface Wait<Row> extends Omit<Settlement<Row>, 'seconds'> {
  readonly caller: Caller;
  /** Undefined: it does not wait. */
  readonly seconds: number | undefined;
}

/**
 * Requests that wait until a record has changed. A wait costs nothing but its connection: records are read again only
 * when the ledger has grown, those of all waits together.
 */
@Injectable()
export class Waits {
  constructor(
    private readonly ledger: LedgerService,
    private readonly gate: ShutdownGuard,
    private readonly gates: Gates,
  ) {}

  /**
   * The record once nothing is open about it any more; in its current state when the time is over, the client leaves,
   * the service stops, or there are too many waits already.
   * @throws UNAUTHORIZED or PERMISSION_DENIED when the caller's key or token ends meanwhile, or its agent is suspended.
   */
  async until<Row>(wait: Wait<Row>): Promise<Row> {
    const { caller, seconds, leaving, read, isOpen } = wait;
    const row = await read();
    if (seconds === undefined || !isOpen(row)) return row;
    const pass = this.gates.of('waits').tryEnter(nameOf(caller));
    if (pass === null) return row;
    try {
      const settled = await this.changed(row, wait, seconds, [leaving, this.gate.signal]);
      const end = endOf(caller);
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
    const { seconds, leaving, read } = settlement;
    return this.changed(await read(), settlement, seconds, [leaving]);
  }

  /** Reads again whenever the ledger has grown, and once more when the time is over or a signal is aborted. */
  private async changed<Row>(
    first: Row,
    { read, isOpen }: Pick<Settlement<Row>, 'read' | 'isOpen'>,
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
      let row = first;
      // From 0, as the ledger may have grown since the first reading.
      for (let seen = 0, isLast = false; isOpen(row) && !isLast; row = await read()) {
        await this.ledger.beyond(seen, over.signal);
        isLast = over.signal.aborted;
        seen = this.ledger.head.sequence;
      }
      return row;
    } finally {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', end);
    }
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
