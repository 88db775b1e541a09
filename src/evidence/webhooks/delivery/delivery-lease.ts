import { Injectable } from '@nestjs/common';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { steadyTime } from '../../../core/concurrency/steady-time';
import { Database } from '../../../ledger/database/database';

/** Milliseconds for which the lease is valid, by the database's clock. */
export const LEASE = 8_000;
/** Milliseconds between renewals, and between checks by processes that wait for the lease. */
export const RENEWAL = 2_000;
/**
 * Milliseconds by which the lease ends earlier for its holder, because clocks run at different speeds, and sending
 * takes a moment.
 */
const MARGIN = 1_000;

/** Time of the server's clock in milliseconds, because the clocks of the machines may differ. */
const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const HOLD =
  `INSERT INTO "webhook_leases" AS lease ("id", "holder", "term", "until") VALUES (1, $1, 1, ${NOW} + ${LEASE}) ` +
  `ON CONFLICT ("id") DO UPDATE SET "holder" = excluded."holder", "until" = excluded."until", ` +
  `"term" = CASE WHEN lease."holder" = excluded."holder" THEN lease."term" ELSE lease."term" + 1 END ` +
  `WHERE lease."holder" = excluded."holder" OR lease."until" < ${NOW} RETURNING "term"`;
const RELEASE = `UPDATE "webhook_leases" SET "until" = 0 WHERE "holder" = $1`;

/**
 * The right of one process to deliver to webhooks and to send mail. On SQLite, which has one process, it never lapses.
 */
@Injectable()
export class DeliveryLease {
  /** Time of the last renewal by the steady clock; null if another process has the lease. */
  private renewedAt: number | null = null;
  private current = 0;

  constructor(private readonly database: Database) {}

  /** A fencing token: higher for each holder, so that late writes of a previous holder are rejected. */
  get term(): number {
    return this.current;
  }

  /** Renews the lease, or takes it over once it has lapsed. Returns its term; null if another process holds it. */
  async hold(): Promise<number | null> {
    // The lease counts from before the request, even if the response is late.
    const begun = steadyTime();
    const { sideConnection, isShared, processId } = this.database;
    const [lease] = isShared ? await sideConnection.all<{ term: number }>(HOLD, [processId]) : [{ term: 1 }];
    this.renewedAt = lease === undefined ? null : begun;
    if (lease !== undefined) this.current = lease.term;
    return lease?.term ?? null;
  }

  async release(): Promise<void> {
    const { sideConnection, isShared, processId } = this.database;
    if (isShared) await sideConnection.all(RELEASE, [processId]);
  }

  /** @param now time by the steady clock */
  isHeldAt(now: number): boolean {
    return this.renewedAt !== null && (!this.database.isShared || now - this.renewedAt < LEASE - MARGIN);
  }
}

/** The process that delivers, if several share a database: a single row. */
@Entity('webhook_leases')
export class WebhookLease {
  @PrimaryColumn('integer')
  readonly id!: number;

  @Column('text')
  readonly holder!: string;

  /** Increased for each holder. */
  @Column('bigint')
  readonly term!: number;

  /** Milliseconds of the database's clock. */
  @Column('bigint')
  readonly until!: number;
}
