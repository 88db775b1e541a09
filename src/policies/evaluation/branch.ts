import type { CompiledPolicy, Names } from './compiled-policy';

/** A part of the index that policies are added to and removed from. */
export interface Shelf {
  readonly isEmpty: boolean;
  add(policy: CompiledPolicy): void;
  remove(policy: CompiledPolicy): void;
}

/** One step of the index: below every name that policies use here, and below "any", lies the next step. */
export class Branch<Next extends Shelf> implements Shelf {
  private any: Next | undefined;
  private readonly named = new Map<string, Next>();

  constructor(
    private readonly namesOf: (policy: CompiledPolicy) => Names,
    private readonly createNext: () => Next,
  ) {}

  get isEmpty(): boolean {
    return this.any === undefined && this.named.size === 0;
  }

  add(policy: CompiledPolicy): void {
    const names = this.namesOf(policy);
    if (names === 'any') {
      this.any ??= this.createNext();
      this.any.add(policy);
      return;
    }
    for (const name of names) this.nextFor(name).add(policy);
  }

  /** Empty steps go with their last policy, so that names which come and go leave nothing behind. */
  remove(policy: CompiledPolicy): void {
    const names = this.namesOf(policy);
    if (names === 'any') {
      this.any?.remove(policy);
      if (this.any?.isEmpty === true) this.any = undefined;
      return;
    }
    for (const name of names) {
      const next = this.named.get(name);
      next?.remove(policy);
      if (next?.isEmpty === true) this.named.delete(name);
    }
  }

  forAny(): Next | undefined {
    return this.any;
  }

  forName(name: string): Next | undefined {
    return this.named.get(name);
  }

  private nextFor(name: string): Next {
    let next = this.named.get(name);
    if (next === undefined) {
      next = this.createNext();
      this.named.set(name, next);
    }
    return next;
  }
}
