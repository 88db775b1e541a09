import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Milliseconds for which the lease is valid, by the database's clock. */
export const LEASE = 8_000;
/** Milliseconds between renewals, and between checks by processes that wait for the lease. */
export const RENEWAL = 2_000;
/** Milliseconds by which it ends earlier for its holder: clocks run at different speeds, and sending takes a moment. */
const MARGIN = 1_000;

/** The right of one process to deliver. */
export class DeliveryLease {
  /** By the steady clock; null: another process has it. */
  private renewedAt: number | null = null;
  private current = 0;

  /**
   * @param length milliseconds for which it is valid after the process asked for it, whatever has delayed it since;
   * infinite where there is nobody who could take over.
   */
  constructor(private readonly length: number) {}

  /** A fencing token: higher for each holder, so that late writes of a previous holder are rejected. */
  get term(): number {
    return this.current;
  }

  /** @param asked the moment before the request to the database. */
  renewed(term: number, asked: number): void {
    this.current = term;
    this.renewedAt = asked;
  }

  lost(): void {
    this.renewedAt = null;
  }

  /** @param now by the same clock. */
  isHeldAt(now: number): boolean {
    return this.renewedAt !== null && now - this.renewedAt < this.length - MARGIN;
  }
}

/** Which process delivers, if several share a database: a single row. */
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
