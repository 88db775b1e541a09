/** Names and values as in `process.env`. An empty value counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One environment variable: how it is read, and what is reported if it is invalid. */
export interface Variable<Value> {
  readonly name: string;
  /** Meaning of the variable in one sentence; shown in `.env.example`. */
  readonly description: string;
  /** Value if the variable is unset or empty; empty if there is no default. */
  readonly default: string;
  /** Default that replaces `default` if NODE_ENV is test. */
  readonly defaultInTest?: () => string;
  /** True if production requires the variable, given the other variables. */
  readonly requiredInProduction?: (environment: Environment) => boolean;
  /**
   * Returns why the variable must be set, given the others, to complete "got nothing, …"; undefined if it need not be.
   */
  readonly requiredWith?: (environment: Environment) => string | undefined;
  /** True for a valid value that production refuses. */
  readonly refusedInProduction?: (text: string) => boolean;
  /** The name of the variable without which this one has no effect: setting it alone is a fault. */
  readonly onlyWith?: string;
  /** Returns why a valid value conflicts with another variable's, and what would be right, to complete "got …, ". */
  readonly contradiction?: (text: string, environment: Environment) => string | undefined;
  /** Completes "expected …". */
  readonly expected: string;
  /** Example value; the default if missing. */
  readonly example?: string;
  /** Masks an invalid value for messages. A value without a mask is shown unchanged. */
  readonly mask?: (text: string) => string;
  /** Parses the value; returns undefined if it is invalid. */
  readonly parse: (text: string) => Value | undefined;
  /** Returns why a well-formed value is refused. */
  readonly explain?: (text: string) => string | undefined;
}

/** A row for each member of a module's settings. */
export type SettingRows<Values> = { readonly [Member in keyof Values]: Variable<Values[Member]> };

/** Variables by the member that each is read into. */
export type VariableTable = Readonly<Record<string, Variable<unknown>>>;

/** The longest delay that a timer supports, in milliseconds. */
export const MAX_TIME_MS = 2 ** 31 - 1;

export type Reading<Value> = Pick<Variable<Value>, 'expected' | 'parse'>;

/** Digits only: no sign, no exponent, no hexadecimal. Both bounds are inclusive. */
export function wholeNumber(smallest: number, largest: number): Reading<number> {
  return {
    expected: `a whole number from ${smallest} to ${largest}, in digits`,
    parse: (text) => parseWholeNumber(text, smallest, largest),
  };
}

export function oneOf<const Choice extends string>(choices: readonly Choice[]): Reading<Choice> {
  return {
    expected: `one of ${choices.join(', ')}`,
    parse: (text) => choices.find((choice) => choice === text),
  };
}

export function trueOrFalse(): Reading<boolean> {
  return {
    expected: 'true or false',
    parse: (text) => ({ true: true, false: false })[text],
  };
}

/** The members of `Variable` that an optional variable determines. */
type UnsetReading<Value> = Pick<Variable<Value>, 'default' | 'expected' | 'parse'>;

type Parse<Value> = Variable<Value>['parse'];

/** Reads a variable that may be unset; an unset one is null. */
export function optional<Value>(expected: string, parse: Parse<Value>): UnsetReading<Value | null> {
  return { default: '', expected, parse: (text) => (text === '' ? null : parse(text)) };
}

/** Reads a comma-separated list; an unset variable is an empty list. */
export function listOf<Item>(expected: string, parse: Parse<Item>): UnsetReading<Item[]> {
  return { default: '', expected, parse: (text) => (text === '' ? [] : parseList(text, parse)) };
}

/** Returns a parser that accepts texts of a form unchanged. */
export function matchRule(form: RegExp): (text: string) => string | undefined {
  return (text) => (form.test(text) ? text : undefined);
}

/** Parses a whole number; undefined if the text is not digits only or the number is out of range. */
export function parseWholeNumber(text: string, smallest: number, largest: number): number | undefined {
  if (!/^\d{1,15}$/.test(text)) return undefined;
  const number = Number(text);
  return number >= smallest && number <= largest ? number : undefined;
}

/** The items of a comma-separated list, each read by `parse`; undefined if any is invalid or the list is empty. */
export function parseList<Item>(text: string, parse: (item: string) => Item | undefined): Item[] | undefined {
  const items: Item[] = [];
  for (const part of text.split(',')) {
    const item = parse(part.trim());
    if (item === undefined) return undefined;
    items.push(item);
  }
  return items;
}

/**
 * Minimum length of an API key that cannot be guessed: a shorter one is refused in production and warned about
 * elsewhere.
 */
export const MIN_SAFE_KEY_CHARACTERS = 16;

export const API_KEY_EXPECTED = `a key of 1 to 1024 visible ASCII characters without spaces, of at least ${MIN_SAFE_KEY_CHARACTERS} with NODE_ENV=production`;

/** Parses an API key; undefined if an HTTP header could not carry it unchanged. */
export const parseApiKey = matchRule(/^[\x21-\x7e]{1,1024}$/);

export function isGuessable(key: string): boolean {
  return key !== '' && key.length < MIN_SAFE_KEY_CHARACTERS;
}

export function maskApiKey(): string {
  return 'a value that is not shown';
}
