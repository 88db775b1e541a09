/** Milliseconds for which the right to deliver is good, by the database's clock. */
export const LEASE = 8_000;
/** Milliseconds between two renewals, and between two looks of those that wait for it. */
export const RENEWAL = 2_000;
/** Milliseconds by which it ends earlier for its holder: clocks run at different speeds, and what is sent takes a moment. */
const MARGIN = 1_000;

/** Both clocks of a moment: one may stand still while the machine sleeps, and the other may be set. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export function thisMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** The right of one process to deliver: so many milliseconds after it asked for it, whatever has held it up since. */
export class DeliveryLease {
  private renewedAt: Moment | null = null;
  private current = 0;

  /** Each holder's number is higher than the one before: what a previous one writes late is refused by it. */
  get term(): number {
    return this.current;
  }

  /** @param asked the moment before the database was asked. */
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
    return elapsed < LEASE - MARGIN;
  }
}
