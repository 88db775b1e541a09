const BITS = 31;

/** A name that policies in force list. There is one object for each name, so equal names are the same object. */
export class Name {
  private uses = 0;

  constructor(
    private readonly text: string,
    /** One of 31 bits; other names may have the same. */
    readonly bit: number,
    private readonly home: { delete(text: string): unknown },
  ) {}

  /** One policy more lists the name. */
  take(): this {
    this.uses += 1;
    return this;
  }

  /** One policy less lists it. */
  release(): void {
    this.uses -= 1;
    if (this.uses === 0) this.home.delete(this.text);
  }
}

/** The names of one kind that policies in force list. */
export class NameTable {
  private readonly names = new Map<string, Name>();
  /** How many names there are of each length. */
  private readonly lengths = new Map<number, number>();
  /** Those of which there is a name: to go through a list takes less time than through a map. */
  private lengthsInUse: readonly number[] = [];

  /** Undefined when no policy lists the name. */
  find(text: string): Name | undefined {
    return this.names.get(text);
  }

  /** The names with which the text begins: a look for each length that a name has, however many there are. */
  prefixesOf(text: string): Name[] {
    const found: Name[] = [];
    for (const length of this.lengthsInUse) {
      const name = length <= text.length ? this.names.get(text.slice(0, length)) : undefined;
      if (name !== undefined) found.push(name);
    }
    return found;
  }

  /** The name of each text, once, for one policy more. */
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

/** Names that a policy lists; null stands for every name. */
export type Names = readonly Name[] | null;

/** The bit of "every name", which no name has. */
const EVERY = 1 << 31;

/** Bits of what a policy lists. Without one in common with the {@link bitsAsked} there is no name in common. */
export function bitsOf(names: Names): number {
  if (names === null) return EVERY;
  let bits = 0;
  for (const name of names) bits |= name.bit;
  return bits;
}

/** Bits of what a request names. */
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
