import { Injectable } from '@nestjs/common';
import { endOf } from '../answers/answer-end';
import type { Caller } from '../../ledger/caller';
import { LedgerTail } from '../../ledger/ledger-tail';
import { Gates, nameOf } from '../gates';
import { ShutdownGate } from '../shutdown/shutdown';
import { AsOfQuery } from '../as-of/as-of.query';
import { WholeRequest } from '../validation/dto-shape';
import { QueryInteger } from '../validation/query-fields';

/** A record that may change. */
interface Awaited<Row> {
  readonly read: () => Promise<Row>;
  /** Whether there is anything left to wait for. */
  readonly isOpen: (row: Row) => boolean;
}

/** What a request waits for. */
interface Wait<Row> extends Awaited<Row> {
  readonly caller: Caller;
  /** The longest wait; undefined: none. */
  readonly seconds: number | undefined;
  /** Aborted when the client has left, or is no longer admitted. */
  readonly leaving: AbortSignal;
}

/** What must have happened before a request can be answered. */
interface Settlement<Row> extends Awaited<Row> {
  readonly seconds: number;
  /** Aborted when nobody waits for it any more. */
  readonly leaving: AbortSignal;
}

/**
 * Requests that wait until a record has changed. A wait costs nothing but its connection: records are read again only
 * when the ledger has grown, those of all waits together.
 */
@Injectable()
export class Waits {
  constructor(
    private readonly tail: LedgerTail,
    private readonly gate: ShutdownGate,
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
      const settled = await this.changed(row, wait, new Ending([leaving, this.gate.signal], seconds));
      const end = endOf(caller);
      if (end !== null) throw end;
      return settled;
    } finally {
      pass.leave();
    }
  }

  /**
   * The same for something that the answer depends on and the client did not ask to wait for: it does not count against
   * the limit.
   */
  async settled<Row>({ seconds, leaving, ...awaited }: Settlement<Row>): Promise<Row> {
    return this.changed(await awaited.read(), awaited, new Ending([leaving], seconds));
  }

  private async changed<Row>(row: Row, awaited: Awaited<Row>, ending: Ending): Promise<Row> {
    const growth = new Growth(this.tail, ending.signal);
    try {
      return await changed(row, awaited, growth);
    } finally {
      growth.end();
      ending.end();
    }
  }
}

/** Reads again whenever the ledger has grown, and once more when the wait is over. */
async function changed<Row>(first: Row, { read, isOpen }: Awaited<Row>, growth: Growth): Promise<Row> {
  let row = first;
  for (let isOver = false; isOpen(row) && !isOver;) {
    isOver = await growth.next();
    row = await read();
  }
  return row;
}

/** Aborted by the first of several signals, or when the time is over. */
class Ending {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private readonly onAbort = (): void => this.controller.abort();

  constructor(
    private readonly signals: readonly AbortSignal[],
    seconds: number,
  ) {
    this.timer = setTimeout(this.onAbort, seconds * 1000);
    for (const signal of signals) {
      if (signal.aborted) this.onAbort();
      signal.addEventListener('abort', this.onAbort, { once: true });
    }
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  end(): void {
    clearTimeout(this.timer);
    for (const signal of this.signals) signal.removeEventListener('abort', this.onAbort);
  }
}

/** Whether the ledger has grown since it was last asked; no growth is missed in between. */
class Growth {
  private hasGrown = true;
  private wake: (() => void) | null = null;
  private readonly endTail: () => void;

  constructor(
    tail: LedgerTail,
    private readonly over: AbortSignal,
  ) {
    this.endTail = tail.onGrowth(() => {
      this.hasGrown = true;
      this.wake?.();
    });
    over.addEventListener('abort', () => this.wake?.(), { once: true });
  }

  /** Resolves when the ledger has grown or the wait is over; true when it is over. */
  async next(): Promise<boolean> {
    if (!this.hasGrown && !this.over.aborted) await new Promise<void>((resolve) => (this.wake = resolve));
    this.wake = null;
    this.hasGrown = false;
    return this.over.aborted;
  }

  end(): void {
    this.endTail();
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
