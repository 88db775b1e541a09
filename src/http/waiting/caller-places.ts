import type { Caller } from '../../ledger/caller';

/** Limits long-running work in one process: the total number, and the number per caller. */
export class CallerPlaces {
  private count = 0;
  private readonly byCaller = new Map<string, number>();

  constructor(
    private readonly most: number,
    private readonly mostOfACaller: number,
  ) {}

  /** False if there is no place. */
  enter({ actor }: Caller): boolean {
    const name = callerName(actor);
    const ofCaller = this.byCaller.get(name) ?? 0;
    if (this.count >= this.most || ofCaller >= this.mostOfACaller) return false;
    this.count += 1;
    this.byCaller.set(name, ofCaller + 1);
    return true;
  }

  leave({ actor }: Caller): void {
    const name = callerName(actor);
    const left = (this.byCaller.get(name) ?? 1) - 1;
    this.count -= 1;
    if (left === 0) this.byCaller.delete(name);
    else this.byCaller.set(name, left);
  }
}

function callerName({ type, id }: Caller['actor']): string {
  return `${type} ${id}`;
}
