import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Milliseconds for which the lease is valid, by the database's clock. */
export const LEASE = 8_000;
/** Milliseconds between renewals, and between checks by processes that wait for the lease. */
export const RENEWAL = 2_000;
/** Milliseconds by which it ends earlier for its holder: clocks run at different speeds, and sending takes a moment. */
const MARGIN = 1_000;

/** Both clocks at one moment: one may stop while the machine sleeps, and the other may be set. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export function thisMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** The right of one process to deliver. */
export class DeliveryLease {
  private renewedAt: Moment | null = null;
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
  renewed(term: number, asked: Moment): void {
    this.current = term;
    this.renewedAt = asked;
  }

  lost(): void {
    this.renewedAt = null;
  }

  isHeldAt({ monotonic, wall }: Moment): boolean {
    if (this.renewedAt === null) return false;
    const elapsed = Math.max(monotonic - this.renewedAt.monotonic, wall - this.renewedAt.wall);
    return elapsed < this.length - MARGIN;
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
