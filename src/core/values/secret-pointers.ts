/** Names of members whose values are secret wherever they stand, unless a setting says otherwise. */
const USUAL_NAMES = [
  ...['password', 'passwd', 'pwd', 'secret', 'token', 'accessToken', 'refreshToken', 'idToken', 'apiKey', 'xApiKey'],
  ...['authorization', 'cookie', 'setCookie', 'privateKey', 'clientSecret', 'credentials', 'jwt'],
];
export const USUAL_SECRET_POINTERS: readonly string[] = USUAL_NAMES.map((name) => `/**/${name}`);

const POINTER = /^(?:\/(?:[^~/]|~[01])*)+$/;
/** Bodies are less deep, and the positions of a pattern fit into the bits of an integer. */
const MAX_TOKENS = 30;
const MAX_LENGTH = 500;
/** As a token: one member or item of any name. */
const ONE = '*';
/** As a token: no, one or several members or items of any names. */
const MANY = '**';

/** Faults of a pointer to secrets; undefined if it is valid. */
export function secretPointerFault(text: string): string | undefined {
  if (!POINTER.test(text)) return 'must be a JSON Pointer that begins with "/", for example /card/number or /**/pin';
  if (text.length > MAX_LENGTH || tokensOf(text).length > MAX_TOKENS)
    return `must have at most ${MAX_LENGTH} characters and ${MAX_TOKENS} names`;
  return undefined;
}

/** The text, if it is a valid pointer to secrets. */
export function parseSecretPointer(text: string): string | undefined {
  return secretPointerFault(text) === undefined ? text : undefined;
}

/** A name that folding may change. */
const UNFOLDED = /[^a-z0-9]/;

/** Folds a name for comparison: in lower case, without `_`, `-`, `.` and blanks, which PHP reads as `_`. */
function foldName(name: string): string {
  return UNFOLDED.test(name) ? name.toLowerCase().replace(/[_\-. ]/g, '') : name;
}

/** Parts of one name. A name with more of them is secret: each part costs a step for each pointer. */
const MAX_PARTS = 16;
const INDEX = /^\d+$/;
const NESTING = /[[.]/;

/** The names that forms write in one, as in `user[password]` and `user.password`; an empty one for `[]`. */
function partsOf(name: string): string[] {
  return name.replace(/\]$/, '').split(/\]?[[.]/, MAX_PARTS + 1);
}

/** Escaped tokens of a pointer, without a `**` after another. */
function tokensOf(pointer: string): string[] {
  const tokens = pointer.split('/').slice(1);
  return tokens.filter((token, index) => token !== MANY || tokens[index - 1] !== MANY);
}

/** One pointer as an automaton: bit `i` of a state is set if the tokens before `i` match the path so far. */
class PointerPattern {
  private readonly names = new Map<string, number>();
  /** The tokens `*`. */
  private ones = 0;
  /** The tokens `**`. */
  private many = 0;
  /** The tokens that are indexes of a list. */
  private indexes = 0;
  private readonly end: number;

  constructor(tokens: readonly string[]) {
    tokens.forEach((token, index) => {
      const bit = 1 << index;
      if (token === MANY) this.many |= bit;
      else if (token === ONE) this.ones |= bit;
      else {
        const name = foldName(token.replaceAll('~1', '/').replaceAll('~0', '~'));
        this.names.set(name, (this.names.get(name) ?? 0) | bit);
        if (INDEX.test(token)) this.indexes |= bit;
      }
    });
    this.end = 1 << tokens.length;
  }

  get start(): number {
    return this.withSkipped(1);
  }

  /** The state after one more name. @param foldedName null for an index that is not known */
  after(state: number, foldedName: string | null): number {
    const possible = foldedName === null ? this.indexes : (this.names.get(foldedName) ?? 0);
    const matched = state & (this.ones | possible);
    return this.withSkipped((matched << 1) | (state & this.many));
  }

  isEnd(state: number): boolean {
    return (state & this.end) !== 0;
  }

  /** Adds the positions behind each `**`, which may stand for nothing. */
  private withSkipped(state: number): number {
    return state | ((state & this.many) << 1);
  }
}

/** How far each pattern matches the path to a value. */
export type PathState = readonly number[];

/** Finds the values that pointers name. Each step takes one operation for each pointer, whatever its `**`. */
export class SecretPointers {
  /** Folded names of the pointers `/**` + `/name`. */
  private readonly anywhere: ReadonlySet<string>;
  private readonly patterns: readonly PointerPattern[];
  /** The state at the root. */
  readonly start: PathState;

  /** @param pointers valid ones */
  constructor(private readonly pointers: readonly string[]) {
    const anywhere = new Set<string>();
    const patterns: PointerPattern[] = [];
    for (const pointer of pointers) {
      const tokens = tokensOf(pointer);
      const name = nameAnywhere(tokens);
      if (name === undefined) patterns.push(new PointerPattern(tokens));
      else anywhere.add(name);
    }
    this.anywhere = anywhere;
    this.patterns = patterns;
    this.start = patterns.map((pattern) => pattern.start);
  }

  /** These pointers and others. */
  with(others: readonly string[]): SecretPointers {
    return others.length === 0 ? this : new SecretPointers([...this.pointers, ...others]);
  }

  /** True if no value is named. */
  get isEmpty(): boolean {
    return this.pointers.length === 0;
  }

  /**
   * The state after one more name, or index; null if the value there is named. A name with brackets or dots is read as it
   * stands, and as the path that it is in a form.
   */
  after(state: PathState, name: string): PathState | null {
    if (!UNFOLDED.test(name)) return this.afterName(state, name);
    const whole = this.afterName(state, foldName(name));
    if (whole === null || !NESTING.test(name) || this.isEmpty) return whole;
    const parts = partsOf(name);
    if (parts.length > MAX_PARTS) return null;
    let nested: PathState | null = state;
    for (const part of parts) {
      nested = this.afterName(nested, part === '' ? null : foldName(part));
      if (nested === null) return null;
    }
    return whole.map((bits, index) => bits | (nested[index] ?? 0));
  }

  /** @param foldedName null for an index that is not known */
  private afterName(state: PathState, foldedName: string | null): PathState | null {
    const { anywhere, patterns } = this;
    if (foldedName !== null && anywhere.has(foldedName)) return null;
    if (patterns.length === 0) return state;
    const next: number[] = [];
    for (const [index, pattern] of patterns.entries()) {
      const after = pattern.after(state[index] ?? 0, foldedName);
      if (pattern.isEnd(after)) return null;
      next.push(after);
    }
    return next;
  }

  /** True if the value at a path is named, or lies within a value that is. */
  covers(path: readonly string[]): boolean {
    let state: PathState | null = this.start;
    for (const name of path) {
      state = this.after(state, name);
      if (state === null) return true;
    }
    return false;
  }
}

/** The folded name of a pattern that names it wherever it stands; undefined for any other pattern. */
function nameAnywhere([first, name, ...others]: readonly string[]): string | undefined {
  const isPlain = first === MANY && name !== undefined && name !== ONE && others.length === 0;
  return isPlain ? foldName(name.replaceAll('~1', '/').replaceAll('~0', '~')) : undefined;
}
