const BITS = 31;

/** A name that policies in force list. There is one object for each name, so equal names are the same object. */
export class Name {
  private uses = 0;

  constructor(
    private readonly text: string,
    /** One of 31 bits; other names may have the same. */
    readonly bit: number,
    private readonly home: Map<string, Name>,
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

  /** Undefined when no policy lists the name. */
  find(text: string): Name | undefined {
    return this.names.get(text);
  }

  /** The name of each text, once, for one policy more. */
  take(texts: Iterable<string>): Name[] {
    return [...new Set(texts)].map((text) => this.nameOf(text).take());
  }

  private nameOf(text: string): Name {
    let name = this.names.get(text);
    if (name === undefined) {
      name = new Name(text, 1 << (this.names.size % BITS), this.names);
      this.names.set(text, name);
    }
    return name;
  }
}
