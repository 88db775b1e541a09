import { scimFault } from '../../core/errors/domain-error';
import type { AttributeChoice } from './scim-responses';
import { MAX_PAGE } from './scim-discovery';

/** Parameters of a list. */
export interface ScimQuery extends AttributeChoice {
  readonly filter: string | undefined;
  /** Index from 1. */
  readonly startIndex: number;
  readonly limit: number;
}

const DEFAULT_COUNT = 100;
/** Largest number of rows that databases can skip. */
const MAX_INDEX = 2 ** 31 - 1;

/** Reads a query; ignores unknown parameters, `sortBy` and `sortOrder`. @throws VALIDATION_ERROR */
export function readQuery(query: Readonly<Record<string, unknown>>): ScimQuery {
  const text = (name: string): string | undefined => (typeof query[name] === 'string' ? query[name] : undefined);
  return {
    filter: text('filter'),
    attributes: text('attributes'),
    excludedAttributes: text('excludedAttributes'),
    startIndex: Math.min(Math.max(1, numberIn('startIndex', text('startIndex'), 1)), MAX_INDEX),
    limit: Math.min(Math.max(0, numberIn('count', text('count'), DEFAULT_COUNT)), MAX_PAGE),
  };
}

function numberIn(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  if (!/^-?\d{1,10}$/.test(text)) throw scimFault('invalidValue', `Expected a whole number as ${name}.`);
  return Number(text);
}
