/** Names of members whose values are secret at any depth, unless a setting replaces this list. */
const USUAL_NAMES = [
  ...['password', 'passwd', 'pwd', 'secret', 'token', 'accessToken', 'refreshToken', 'idToken', 'apiKey', 'xApiKey'],
  ...['authorization', 'cookie', 'setCookie', 'privateKey', 'clientSecret', 'credentials', 'jwt'],
];
export const USUAL_SECRET_POINTERS: readonly string[] = USUAL_NAMES.map((name) => `/**/${name}`);

const POINTER = /^(?:\/(?:[^~/]|~[01])*)+$/;
/**
 * Most tokens of a pointer: bodies are less deep, and the positions of a pattern must fit into the bits of an integer.
 */
const MAX_TOKENS = 30;
const MAX_LENGTH = 500;
/** Token for exactly one member or item of any name. */
const ONE = '*';
/** Token for any number of nested members or items of any names, including none. */
const MANY = '**';

/** Returns the fault of a pointer to secrets; undefined if it is valid. */
export function secretPointerFault(text: string): string | undefined {
  if (!POINTER.test(text)) return 'must be a JSON Pointer that begins with "/", for example /card/number or /**/pin';
  if (text.length > MAX_LENGTH || tokensOf(text).length > MAX_TOKENS)
    return `must have at most ${MAX_LENGTH} characters and ${MAX_TOKENS} names`;
  return undefined;
}

/** Returns the text if it is a valid pointer to secrets, otherwise undefined. */
export function parseSecretPointer(text: string): string | undefined {
  return secretPointerFault(text) === undefined ? text : undefined;
}

/** A name that folding may change. */
const UNFOLDED = /[^a-z0-9]/;

/** Folds a name for comparison: in lower case, without `_`, `-`, `.` and blanks. PHP reads `.` and blanks as `_`. */
function foldName(name: string): string {
  return UNFOLDED.test(name) ? name.toLowerCase().replace(/[_\-. ]/g, '') : name;
}

/** Most parts of one name. A name with more parts counts as secret, because each part costs a step per pointer. */
const MAX_PARTS = 8;
const INDEX = /^\d+$/;
const NESTING = /[[.]/;

/** Splits a name that a form has nested, such as `user[password]` or `user.password`; `[]` gives an empty part. */
function partsOf(name: string): string[] {
  return name.replace(/\]$/, '').split(/\]?[[.]/, MAX_PARTS + 1);
}

/** Splits a pointer into escaped tokens and drops a `**` that follows another. */
function tokensOf(pointer: string): string[] {
  const tokens = pointer.split('/').slice(1);
  return tokens.filter((token, index) => token !== MANY || tokens[index - 1] !== MANY);
}

/** A pointer as an automaton: bit `i` of a state is set if the tokens before `i` match the path so far. */
class PointerPattern {
  private readonly names = new Map<string, number>();
  /** Bits of the tokens `*`. */
  private ones = 0;
  /** Bits of the tokens `**`. */
  private many = 0;
  /** Bits of the tokens that are indexes of a list. */
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

  /** Returns the state after one more name. @param foldedName null for an unknown index */
  after(state: number, foldedName: string | null): number {
    const possible = foldedName === null ? this.indexes : (this.names.get(foldedName) ?? 0);
    const matched = state & (this.ones | possible);
    return this.withSkipped((matched << 1) | (state & this.many));
  }

  isEnd(state: number): boolean {
    return (state & this.end) !== 0;
  }

  /** Adds the positions after each `**`, because `**` may match nothing. */
  private withSkipped(state: number): number {
    return state | ((state & this.many) << 1);
  }
}

/** State of the match of each pattern with the path to a value. */
export type PathState = readonly number[];

/** Finds the values that pointers name. Each step takes one operation per pointer, even with `**`. */
export class SecretPointers {
  /** Folded names of the pointers `/**` + `/name`. */
  private readonly anywhere: ReadonlySet<string>;
  private readonly patterns: readonly PointerPattern[];
  /** The state at the root. */
  readonly start: PathState;

  /** @param pointers valid pointers */
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

  /** Returns these pointers together with others. */
  with(others: readonly string[]): SecretPointers {
    return others.length === 0 ? this : new SecretPointers([...this.pointers, ...others]);
  }

  /** True if there are no pointers. */
  get isEmpty(): boolean {
    return this.pointers.length === 0;
  }

  /**
   * Returns the state after one more name or index; null if a pointer names the value there. A name with brackets or
   * dots is tried as it is written and as the nested path of a form.
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

  /** @param foldedName null for an unknown index */
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

  /** True if a pointer names the value at a path, or a value around it. */
  covers(path: readonly string[]): boolean {
    let state: PathState | null = this.start;
    for (const name of path) {
      state = this.after(state, name);
      if (state === null) return true;
    }
    return false;
  }
}

/** Returns the folded name of a pattern that matches the name at any depth; undefined for any other pattern. */
function nameAnywhere([first, name, ...others]: readonly string[]): string | undefined {
  const isPlain = first === MANY && name !== undefined && name !== ONE && others.length === 0;
  return isPlain ? foldName(name.replaceAll('~1', '/').replaceAll('~0', '~')) : undefined;
}
