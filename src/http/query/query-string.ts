import type { FieldFault } from '../../core/errors/domain-error';

export interface QueryString {
  /** Values by name, without faulty parameters. */
  readonly parameters: ReadonlyMap<string, string | string[]>;
  readonly faults: readonly FieldFault[];
}

export const NO_QUERY: QueryString = { parameters: new Map(), faults: [] };
const NONE: ReadonlySet<string> = new Set();

type Parameters = Map<string, string | string[]>;

/**
 * Parses the query of a request target. Each parameter must occur once, with a value, in percent-encoded UTF-8;
 * repeatable ones become lists.
 */
export function parseQueryString(target: string, repeatable: ReadonlySet<string> = NONE): QueryString {
  const start = target.indexOf('?');
  if (start < 0 || start === target.length - 1) {
    return NO_QUERY;
  }
  const parameters: Parameters = new Map();
  const faults = new Map<string, string>();
  for (const pair of target.slice(start + 1).split('&')) {
    if (pair !== '') {
      readPair(pair, parameters, repeatable, faults);
    }
  }
  return withoutFaulty(parameters, faults);
}

function readPair(
  pair: string,
  parameters: Parameters,
  repeatable: ReadonlySet<string>,
  faults: Map<string, string>,
): void {
  const equals = pair.indexOf('=');
  const rawName = equals < 0 ? pair : pair.slice(0, equals);
  const name = decoded(rawName);
  const value = equals < 0 ? '' : decoded(pair.slice(equals + 1));
  if (name === undefined || value === undefined) {
    faults.set(name ?? rawName, 'must be percent-encoded UTF-8');
  } else if (repeatable.has(name)) {
    parameters.set(name, [...(parameters.get(name) ?? []), value]);
    noteValueFault(name, value, faults);
  } else if (parameters.has(name)) {
    faults.set(name, 'must be given only once');
  } else {
    parameters.set(name, value);
    noteValueFault(name, value, faults);
  }
}

function noteValueFault(name: string, value: string, faults: Map<string, string>): void {
  if (value === '') {
    faults.set(name, 'must have a value; otherwise leave the parameter out');
  } else if (value.includes('\0') || name.includes('\0')) {
    faults.set(name, 'must not contain a NUL character');
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

function withoutFaulty(parameters: Parameters, faults: ReadonlyMap<string, string>): QueryString {
  for (const name of faults.keys()) {
    parameters.delete(name);
  }
  const reported = [...faults].map(([name, message]) => ({ field: `query.${name}`, message }));
  return { parameters, faults: reported };
}
