import { Logger } from '@nestjs/common';
import { uptime } from 'node:os';
import { DatabaseFault } from '../database/database-fault';
import type { SqlConnection } from '../database/sql-connection';
import type { WriteStops } from './fail-stop';

const SECOND = 1_000;
/** Milliseconds after which a reading of the clock is stale, for example because the process was suspended. */
const SLOWEST_ANSWER = 60 * SECOND;
const CAUSE = 'clock';

/**
 * The ledger's clock: the database's if it has one, so that all processes share it, otherwise the machine's. A wrong
 * time stays in the ledger for ever, so a clock that jumps stops all writing. A jump is detected by comparing the
 * machine's clock with its uptime, which includes sleep, or with the database's clock.
 */
export class LedgerClock {
  private readonly logger = new Logger('Ledger');
  private first: ClockReading | null = null;
  /** Milliseconds by which the database's clock is ahead of the machine's. */
  private ahead = 0;
  private hasJumped = false;

  /**
   * @param sql selects the database's clock as `now`; null if the database has no clock.
   * @param maximumStep in milliseconds.
   */
  constructor(
    private readonly sql: string | null,
    private readonly maximumStep: number,
    private readonly stops: WriteStops,
  ) {}

  /** Returns the time in milliseconds, based on the last reading of the database's clock, if it has one. */
  now(): number {
    return Date.now() + this.ahead;
  }

  /** Returns the clock's time in ISO 8601, but never an earlier time than that of the last entry. */
  timeAfter(last: string): string {
    const now = new Date(this.now()).toISOString();
    return now > last ? now : last;
  }

  /**
   * @throws UNAVAILABLE when writing has been stopped; DatabaseFault if the database's time cannot be read.
   */
  async check(connection: Pick<SqlConnection, 'all'>): Promise<void> {
    if (this.sql === null) this.watch();
    else await this.readDatabaseTime(connection, this.sql);
    if (this.stops.refusal !== null) throw this.stops.refusal;
  }

  /** Checks the machine's clock if it is the ledger's. */
  watch(): void {
    if (this.sql === null) this.take({ clock: Date.now(), steady: uptime() * SECOND });
  }

  /**
   * Refuses a start whose clock is far behind the last entry. Until it caught up, ledger time would stand still, and
   * deadlines and retention would be computed from a wrong time.
   * @param accepted time of the last entry, if the operator has accepted it
   * @throws HeadAheadError
   */
  requireReached(last: string, accepted: string | null, location: string): void {
    const ahead = Date.parse(last) - this.now();
    // A damaged time gives NaN, and is reported elsewhere.
    if (last === accepted || !(ahead > this.maximumStep)) return;
    throw new HeadAheadError(
      `The last entry of the database ${location} was written at ${last}, ${Math.round(ahead / SECOND)} seconds ahead of ` +
        `the clock, which shows ${new Date(this.now()).toISOString()}: one of the two is wrong. ` +
        'Set the clock right; or, if the clock is right and the entry was written with a wrong one, ' +
        `start with ACCEPT_HEAD_TIME=${last}: ledger time stands still until the clock has caught up.`,
    );
  }

  private async readDatabaseTime(connection: Pick<SqlConnection, 'all'>, sql: string): Promise<void> {
    const start = Date.now();
    const [row] = await connection.all<{ now: number }>(sql);
    const end = Date.now();
    if (row === undefined || end - start > SLOWEST_ANSWER)
      throw new DatabaseFault('unavailable', 'CLOCK', 'The database took too long to return its time.');
    this.ahead = row.now - end;
    this.take({ clock: end, steady: row.now });
  }

  private take(reading: ClockReading): void {
    this.first ??= reading;
    const step = clockStep(this.first, reading);
    if (Math.abs(step) <= this.maximumStep || this.hasJumped) return;
    this.hasJumped = true;
    this.stops.stop(CAUSE, 'The clock has jumped, so nothing is written until the service is restarted.');
    this.logger.fatal(`${this.jump(step)} Nothing more is written. Set the clock right, then restart the service.`);
  }

  private jump(step: number): string {
    const seconds = Math.round(Math.abs(step) / SECOND);
    const direction = step > 0 ? 'AHEAD' : 'BACK';
    const against = this.sql === null ? '' : ' AGAINST THE CLOCK OF THE DATABASE';
    return `THE CLOCK OF THIS MACHINE WENT ${direction} BY ${seconds} SECONDS${against} SINCE THE START.`;
  }
}

/** The ledger's last entry is too far ahead of the clock. Startup ends with exit code 65. */
export class HeadAheadError extends Error {
  override readonly name = 'HeadAheadError';
}

/** Readings of two clocks at the same moment, in milliseconds. */
interface ClockReading {
  /** The clock that may be set. */
  readonly clock: number;
  /** The reference clock, which keeps running while the machine sleeps. */
  readonly steady: number;
}

/** Returns the milliseconds by which the clock was set forward since the first reading; negative if it was set back. */
export function clockStep(first: ClockReading, now: ClockReading): number {
  return now.clock - first.clock - (now.steady - first.steady);
}
