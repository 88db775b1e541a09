import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DatabaseFault } from '../database/database-fault';
import { LedgerTail } from '../ledger/ledger-tail';
import { EntryReader } from '../ledger/reading/entry-reader';
import type { Condition, PageRequest } from '../ledger/record-page';
import { SingleFlight } from '../shared/single-flight';
import { EventPiece } from './event-piece';

/** Entries that are read at once at most. */
const PIECE = 250;
/** Milliseconds after which entries that could not be read are read again. */
const RETRY = 500;

/** Whoever takes entries as they are written. */
export interface EntryFollower {
  take(piece: EventPiece): void;
  /** An entry cannot be read: nothing after it comes. */
  breakOff(): void;
}

/** The entries as they are written, by whichever process: read once for all who follow them here. */
@Injectable()
export class LiveEntries implements OnModuleDestroy {
  private readonly logger = new Logger('Events');
  private readonly followers = new Set<EntryFollower>();
  private readonly readings = new SingleFlight<never, void>(() => this.read());
  /** Sequence of the last entry that was handed out. */
  private position = 0;
  private endTail: (() => void) | null = null;
  private retry: NodeJS.Timeout | null = null;

  constructor(
    private readonly entries: EntryReader,
    private readonly tail: LedgerTail,
  ) {}

  /** From now on it gets what comes after the position, unless others have got that already: then false. */
  join(follower: EntryFollower, position: number): boolean {
    if (this.followers.size > 0 && position < this.position) return false;
    if (this.followers.size === 0) this.position = position;
    this.followers.add(follower);
    this.endTail ??= this.tail.onGrowth(() => this.readOn());
    // The tail reports what comes from now on.
    this.readOn();
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

  private readOn(): void {
    this.readings.call(0).catch((error: unknown) => this.onFailure(error));
  }

  private async read(): Promise<void> {
    for (let more = true; more && this.followers.size > 0;) {
      const began = this.position;
      const page = await this.entries.page(pageAfter(began, []));
      const last = page.rows.at(-1);
      // Others may have left and come meanwhile, who stand elsewhere.
      if (last === undefined || this.position !== began) return;
      this.position = last.sequence;
      const piece = new EventPiece(page.rows);
      for (const follower of [...this.followers]) follower.take(piece);
      ({ more } = page);
      // The sockets take what was written, before more is.
      if (more) await nextTurn();
    }
  }

  /** A database that is away comes back. What is damaged stays so: who follows is not kept waiting for what follows it. */
  private onFailure(error: unknown): void {
    if (error instanceof DatabaseFault) {
      this.logger.debug(`New entries cannot be read now: ${String(error)}`);
      if (this.followers.size > 0) this.retry ??= setTimeout(() => this.readAgain(), RETRY).unref();
      return;
    }
    this.logger.error({ err: error }, 'New entries cannot be read: streams of events are broken off.');
    for (const follower of [...this.followers]) follower.breakOff();
  }

  private readAgain(): void {
    this.retry = null;
    this.readOn();
  }
}

/** A page of entries after a sequence; how many there are in all nobody asks. */
export function pageAfter(position: number, conditions: readonly Condition[]): PageRequest {
  return { conditions, limit: PIECE, offset: 0, order: 'asc', position, total: 0 };
}
