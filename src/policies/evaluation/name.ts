const BITS = 31;

/** A name listed by policies in force. There is one object per name, so equal names are the same object. */
export class Name {
  private uses = 0;

  constructor(
    private readonly text: string,
    /** One of 31 bits, shared with other names. */
    readonly bit: number,
    private readonly home: { delete(text: string): unknown },
  ) {}

  /** One more policy lists the name. */
  take(): this {
    this.uses += 1;
    return this;
  }

  /** One policy fewer lists it. */
  release(): void {
    this.uses -= 1;
    if (this.uses === 0) this.home.delete(this.text);
  }
}

/** The names of one kind that policies in force list. */
export class NameTable {
  private readonly names = new Map<string, Name>();
  /** The number of names of each length. */
  private readonly lengths = new Map<number, number>();
  /** The lengths that occur: iterating over a list is faster than over a map. */
  private lengthsInUse: readonly number[] = [];

  /** Undefined if no policy lists the name. */
  find(text: string): Name | undefined {
    return this.names.get(text);
  }

  /** The names that are prefixes of the text: one lookup per length in use, however many names there are. */
  prefixesOf(text: string): Name[] {
    const found: Name[] = [];
    for (const length of this.lengthsInUse) {
      const name = length <= text.length ? this.names.get(text.slice(0, length)) : undefined;
      if (name !== undefined) found.push(name);
    }
    return found;
  }

  /** Returns the name of each text once, and registers one more policy for it. */
  take(texts: Iterable<string>): Name[] {
    return [...new Set(texts)].map((text) => this.nameOf(text).take());
  }

  /** Called by a name that nobody lists any more. */
  delete(text: string): void {
    this.names.delete(text);
    this.count(text.length, -1);
  }

  private nameOf(text: string): Name {
    let name = this.names.get(text);
    if (name === undefined) {
      name = new Name(text, 1 << (this.names.size % BITS), this);
      this.names.set(text, name);
      this.count(text.length, 1);
    }
    return name;
  }

  private count(length: number, more: number): void {
    const count = (this.lengths.get(length) ?? 0) + more;
    if (count === 0) this.lengths.delete(length);
    else this.lengths.set(length, count);
    if (count <= 1) this.lengthsInUse = [...this.lengths.keys()];
  }
}

/** The names that a policy lists; null stands for every name. */
export type Names = readonly Name[] | null;

/** The bit for "every name", which no single name has. */
const EVERY = 1 << 31;

/** The bits of a policy's names. Without a bit in common with {@link bitsAsked}, there is no name in common. */
export function bitsOf(names: Names): number {
  if (names === null) return EVERY;
  let bits = 0;
  for (const name of names) bits |= name.bit;
  return bits;
}

/** The bits of a request's names. */
export function bitsAsked(names: readonly Name[]): number {
  return EVERY | bitsOf(names);
}

export function haveCommonName(names: Names, asked: readonly Name[]): boolean {
  if (names === null) return true;
  for (const name of names) {
    for (const other of asked) if (name === other) return true;
  }
  return false;
}
