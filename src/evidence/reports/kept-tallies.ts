import type { Tally } from './tally';

/** Most numbers that are kept, some 50 MB. */
const MOST = 500_000;

/** What was counted of past hours, until a record of theirs changes. */
export class KeptTallies {
  private readonly tallies = new Map<string, Tally>();
  private size = 0;
  /** What is kept is right as of this entry; later ones may have changed it. */
  asOf = 0;

  constructor(private readonly most = MOST) {}

  get isEmpty(): boolean {
    return this.tallies.size === 0;
  }

  of(name: string): Tally | undefined {
    return this.tallies.get(name);
  }

  forgetAll(): void {
    this.tallies.clear();
    this.size = 0;
  }

  /** The oldest give way. */
  keep(name: string, tally: Tally): void {
    this.forget(name);
    this.tallies.set(name, tally);
    this.size += sizeOf(tally);
    for (const oldest of this.tallies.keys()) {
      if (this.size <= this.most) return;
      this.forget(oldest);
    }
  }

  forget(name: string): void {
    const tally = this.tallies.get(name);
    if (tally !== undefined && this.tallies.delete(name)) this.size -= sizeOf(tally);
  }
}

/** An empty one takes memory, too. */
function sizeOf(tally: Tally): number {
  return tally.size + 1;
}
