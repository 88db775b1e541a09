import { Logger } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { steadyTime } from '../../../core/concurrency/steady-time';
import { PeriodicTask } from '../../../core/lifecycle/periodic-task';
import type { SqlSessions } from '../sql-connection';

/** Milliseconds that a renewal lasts: a process that is suspended for less keeps its executions. */
const LEASE = 60_000;
/** Milliseconds until the next renewal. */
const RENEWAL = 10_000;
/** Milliseconds after a renewal in which executions may begin: the rest of the lease is left for their commit. */
const BEGINNINGS = 45_000;
/** Average milliseconds between checks whether a renewal is due. After a failed renewal, the next check tries again. */
const CHECK = 1_000;
/**
 * Milliseconds for which a process must have held its own lease before it considers others ended: if the server was
 * unreachable for all, every lease has lapsed, and each process needs time to renew its own.
 */
const STANDING = 2 * RENEWAL;
/** Milliseconds until a lapsed lease is removed. */
const KEPT = 86_400_000;

/** The server's clock in milliseconds, because the clocks of the machines may differ. */
const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const RENEW = `INSERT INTO "process_leases" ("id", "since", "until") VALUES ($1, ${NOW}, ${NOW} + ${LEASE})
  ON CONFLICT ("id") DO UPDATE SET "until" = excluded."until",
  "since" = CASE WHEN "process_leases"."until" < excluded."since" THEN excluded."since" ELSE "process_leases"."since" END
  RETURNING "since"`;
const GIVE_UP = `DELETE FROM "process_leases" WHERE "id" = $1`;
const TIDY_UP = `DELETE FROM "process_leases" WHERE "until" < ${NOW} - ${KEPT}`;
/** Separates the name of a process from the number of times that its lease has lapsed. */
const LAPSES = '.';
/** Selects the leases that have not lapsed; all leases if this process has not held its own for long enough. */
const SELECT_LIVING = `SELECT "id" FROM "process_leases" WHERE "until" >= ${NOW} OR NOT EXISTS
  (SELECT 1 FROM "process_leases" WHERE "id" = $1 AND "until" >= ${NOW} AND "since" <= ${NOW} - ${STANDING})`;

/**
 * Shows other processes that this one is alive, by a row with the end of its lease in the server's time. After that
 * time, or once the lease is given up, others treat this process's executions as interrupted. Other processes mark
 * executions some time after reading the lease. Therefore this process begins executions under a new name after a
 * lapse, which others do not mark. While its lease may have lapsed unnoticed, it begins none.
 */
export class PostgresLease {
  readonly processId = randomBytes(8).toString('hex');
  private readonly logger = new Logger('Database');
  private readonly renewals = new PeriodicTask(
    CHECK,
    () => this.renewInTime(),
    (error) => this.onFailure(error),
  );
  /** Time of the last renewal by this machine's clock. */
  private renewedAt = -Infinity;
  /**
   * Beginning of the lease by the server's clock, renewed if a renewal finds that the lease had lapsed or was gone. The
   * clock of a server that has taken over may be behind.
   */
  private since: number | null = null;
  private lapses = 0;
  private isFailing = false;

  /** @param session writes the lease; it may repeat statements, which are idempotent. */
  constructor(
    private readonly session: SqlSessions,
    private readonly reader: SqlSessions,
  ) {}

  /** Throws when the server cannot be reached. */
  async begin(): Promise<void> {
    await this.session.all(TIDY_UP);
    await this.renew();
    this.renewals.begin();
  }

  /** Name of this process in executions that begin now; null if none may begin until the lease has been renewed. */
  get runner(): string | null {
    if (steadyTime() - this.renewedAt >= BEGINNINGS) return null;
    return this.lapses === 0 ? this.processId : `${this.processId}${LAPSES}${this.lapses}`;
  }

  /** @param names names of processes or of runners */
  async findEndedProcesses(names: readonly string[]): Promise<readonly string[]> {
    if (names.length === 0) return [];
    const rows = await this.reader.all<{ id: string }>(SELECT_LIVING, [this.processId]);
    const living = new Set(rows.map(({ id }) => id)).add(this.processId);
    return names.filter((name) => !living.has(processOf(name)));
  }

  /** Gives the lease up, if the server can be reached. */
  async end(): Promise<void> {
    await this.renewals.stop();
    try {
      await this.session.all(GIVE_UP, [this.processId]);
    } catch (error) {
      this.logger.warn(`Other processes learn of this one's end only when its lease lapses: ${String(error)}`);
    }
    await this.session.close();
  }

  private async renewInTime(): Promise<void> {
    if (steadyTime() - this.renewedAt < RENEWAL) return;
    await this.renew();
    if (this.isFailing) this.logger.log('The lease of this process is being renewed again.');
    this.isFailing = false;
  }

  private async renew(): Promise<void> {
    const begun = steadyTime();
    const [lease] = await this.session.all<{ since: number }>(RENEW, [this.processId]);
    const since = lease?.since ?? 0;
    if (this.since !== null && since !== this.since) this.lapses += 1;
    this.since = since;
    this.renewedAt = begun;
  }

  private onFailure(error: unknown): void {
    this.logger.warn(
      `The lease of this process cannot be renewed; ${LEASE / 1_000} s after the last renewal others consider it ended: ${String(error)}`,
    );
    this.isFailing = true;
  }
}

function processOf(name: string): string {
  return name.split(LAPSES, 1)[0] ?? name;
}

/**
 * The end of a process's lease, for processes that share a database. It lies outside the ledger: a renewal changes no
 * record, and nothing is hashed here.
 */
@Entity('process_leases')
export class ProcessLease {
  @PrimaryColumn('text')
  readonly id!: string;

  /** Milliseconds of the database's clock, like `until`: the lease has not lapsed since. */
  @Column('bigint')
  readonly since!: number;

  @Column('bigint')
  readonly until!: number;
}
