import type { Configuration } from '../configuration';

/** Names and values as in `process.env`. An empty value counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One environment variable: how it is read, and what is said about it when it cannot be. */
export interface Variable<Value> {
  readonly name: string;
  /** What it decides, in a sentence; shown in `.env.example`. */
  readonly description: string;
  /** Stands in for an unset or empty variable; empty when there is none. */
  readonly default: string;
  /** Replaces `default` with NODE_ENV=test. */
  readonly defaultInTest?: () => string;
  /** Whether production needs it, with the other variables as they are. */
  readonly requiredInProduction?: (environment: Environment) => boolean;
  /** What works elsewhere, but production does not take. */
  readonly refusedInProduction?: (text: string) => boolean;
  /** Completes "expected …". */
  readonly expected: string;
  readonly example: string;
  /** How a value that is not as expected may be shown. Without it the value is shown as it is. */
  readonly mask?: (text: string) => string;
  /** Undefined: not as expected. */
  readonly parse: (text: string) => Value | undefined;
  /** Why a well-formed value is refused all the same. */
  readonly explain?: (text: string) => string | undefined;
}

/** The members of the configuration that are read from the environment. */
export type Settings = Omit<Configuration, 'apiKeyGenerated'>;

export type Variables = { readonly [Member in keyof Settings]: Variable<Settings[Member]> };

/** The longest time a timer takes, in milliseconds. */
export const LONGEST_TIME = 2 ** 31 - 1;

export type Reading<Value> = Pick<Variable<Value>, 'expected' | 'parse'>;

/** Digits only: no sign, no exponent, no hexadecimal. Both bounds belong to the range. */
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

/** Undefined when the text is not digits only or the number is out of range. */
export function parseWholeNumber(text: string, smallest: number, largest: number): number | undefined {
  if (!/^\d{1,15}$/.test(text)) return undefined;
  const number = Number(text);
  return number >= smallest && number <= largest ? number : undefined;
}

/** The items of a comma-separated list, each read by `parse`; undefined when one cannot be read or nothing is there. */
export function parseList<Item>(text: string, parse: (item: string) => Item | undefined): Item[] | undefined {
  const items: Item[] = [];
  for (const part of text.split(',')) {
    const item = parse(part.trim());
    if (item === undefined) return undefined;
    items.push(item);
  }
  return items;
}
