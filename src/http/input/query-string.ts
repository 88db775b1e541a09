import type { FieldFault } from '../../core/errors/domain-error';

export interface QueryString {
  /** Values by name; faulty parameters are missing. */
  readonly parameters: ReadonlyMap<string, string | string[]>;
  readonly faults: readonly FieldFault[];
}

export const NO_QUERY: QueryString = { parameters: new Map(), faults: [] };

/**
 * Parses the query of a request target. Each parameter must occur once, with a value, in percent-encoded UTF-8;
 * repeatable ones become lists.
 */
export function parseQueryString(target: string, repeatable: readonly string[]): QueryString {
  const start = target.indexOf('?');
  if (start < 0) return NO_QUERY;
  const parameters = new Map<string, string | string[]>();
  const faults = new Map<string, string>();
  for (const pair of target.slice(start + 1).split('&')) {
    if (pair === '') continue;
    const [rawName = '', ...rest] = pair.split('=');
    const [name, value] = [decoded(rawName), decoded(rest.join('='))];
    const isAgain = name !== undefined && parameters.has(name) && !repeatable.includes(name);
    const fault = isAgain ? 'must be given only once' : pairFault(name, value);
    if (fault !== undefined) faults.set(name ?? rawName, fault);
    if (name === undefined || value === undefined || isAgain) continue;
    parameters.set(name, repeatable.includes(name) ? [...(parameters.get(name) ?? []), value] : value);
  }
  for (const name of faults.keys()) parameters.delete(name);
  return { parameters, faults: [...faults].map(([name, message]) => ({ field: `query.${name}`, message })) };
}

function pairFault(name: string | undefined, value: string | undefined): string | undefined {
  if (name === undefined || value === undefined) return 'must be percent-encoded UTF-8';
  if (value === '') return 'must have a value; otherwise leave the parameter out';
  return value.includes('\0') || name.includes('\0') ? 'must not contain a NUL character' : undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
