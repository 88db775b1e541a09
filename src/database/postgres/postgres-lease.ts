import { Logger } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import type { SqlSessions } from '../sql-connection';

/** Milliseconds that a renewal lasts: a process suspended for less keeps its executions. */
const LEASE = 60_000;
/** Milliseconds between renewals. */
const RENEWAL = 10_000;
/**
 * Milliseconds for which a process must have held its own lease before it considers others ended: if the server was
 * unreachable for all, every lease has lapsed, and each process needs time to renew its own.
 */
const STANDING = 2 * RENEWAL;
/** Milliseconds after which a lapsed lease is removed. */
const KEPT = 86_400_000;

/** The server's clock, in milliseconds: those of the machines may differ. */
const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const RENEW = `INSERT INTO "process_leases" ("id", "since", "until") VALUES ($1, ${NOW}, ${NOW} + ${LEASE})
  ON CONFLICT ("id") DO UPDATE SET "until" = excluded."until",
  "since" = CASE WHEN "process_leases"."until" < excluded."since" THEN excluded."since" ELSE "process_leases"."since" END`;
const GIVE_UP = `DELETE FROM "process_leases" WHERE "id" = $1`;
const TIDY_UP = `DELETE FROM "process_leases" WHERE "until" < ${NOW} - ${KEPT}`;
/** Leases that have not lapsed; all leases, while the asking process cannot judge. */
const SELECT_LIVING = `SELECT "id" FROM "process_leases" WHERE "until" >= ${NOW} OR NOT EXISTS
  (SELECT 1 FROM "process_leases" WHERE "id" = $1 AND "until" >= ${NOW} AND "since" <= ${NOW} - ${STANDING})`;

/**
 * Shows other processes that this one is alive, with a row that says until when, by the server's clock. Once that time
 * has passed or the lease is given up, other processes treat this one's executions as interrupted.
 */
export class PostgresLease {
  readonly processId = randomBytes(8).toString('hex');
  private readonly logger = new Logger('Database');
  private renewing: Promise<void> | null = null;
  private timer: NodeJS.Timeout | null = null;
  private isFailing = false;

  /** @param session writes the lease; it may repeat statements, which are idempotent. */
  constructor(
    private readonly session: SqlSessions,
    private readonly reader: SqlSessions,
  ) {}

  /** Throws when the server cannot be reached. */
  async begin(): Promise<void> {
    await this.session.run(TIDY_UP);
    await this.session.run(RENEW, [this.processId]);
    this.timer = setInterval(() => this.renew(), RENEWAL).unref();
  }

  async endedAmong(processIds: readonly string[]): Promise<readonly string[]> {
    if (processIds.length === 0) return [];
    const rows = await this.reader.all<{ id: string }>(SELECT_LIVING, [this.processId]);
    const living = new Set(rows.map(({ id }) => id)).add(this.processId);
    return processIds.filter((processId) => !living.has(processId));
  }

  /** Gives the lease up, if the server can be reached. */
  async end(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    await this.renewing;
    try {
      await this.session.run(GIVE_UP, [this.processId]);
    } catch (error) {
      this.logger.warn(`Other processes learn of this one's end only when its lease lapses: ${String(error)}`);
    }
    await this.session.close();
  }

  private renew(): void {
    this.renewing ??= this.session
      .run(RENEW, [this.processId])
      .then(
        () => this.onRenewed(),
        (error: unknown) => this.onFailure(error),
      )
      .finally(() => (this.renewing = null));
  }

  private onRenewed(): void {
    if (this.isFailing) this.logger.log('The lease of this process is being renewed again.');
    this.isFailing = false;
  }

  private onFailure(error: unknown): void {
    if (!this.isFailing)
      this.logger.warn(
        `The lease of this process cannot be renewed; ${LEASE / 1_000} s after the last renewal others consider it ended: ${String(error)}`,
      );
    this.isFailing = true;
  }
}
