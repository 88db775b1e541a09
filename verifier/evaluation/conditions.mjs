import { isBetween } from './clock.mjs';
import { isUnmistakable, plainForm } from './spelling.mjs';

/**
 * What conditions say of a request: true, false, or undefined for unknown. docs/policies.md, Conditions.
 *
 * @typedef {Readonly<Record<string, unknown>>} JsonObject
 * @typedef {{ parameters: JsonObject, time: Date }} Asked
 * @typedef {true | false | undefined} Truth
 * @typedef {Readonly<{ parameter?: string, clock?: string, days?: readonly string[], earlier?: string, within?: string | null, resource?: string | null, claim?: string, op: string, value: unknown }>} Condition
 */

/** Stands for a value that is not there. */
const NOTHING = Symbol('nothing');

/**
 * @param {readonly Condition[]} conditions
 * @param {Asked} asked
 * @param {(index: number) => Truth} known what was found for those that ask more than the request
 * @returns {Truth} of all together
 */
export function areTrue(conditions, asked, known) {
  return allOf(conditions.map((one, index) => (isAsking(one) ? known(index) : isTrue(one, asked))));
}

/**
 * @param {Condition} condition
 * @param {Asked} asked
 * @returns {Truth}
 */
export function isTrue(condition, asked) {
  const { parameter, clock, days, op, value } = condition;
  if (clock !== undefined) {
    const [from = '', to = ''] = /** @type {string[]} */ (value);
    return isBetween(asked.time, { zone: clock, days, from, to });
  }
  const found = valuesAt(asked.parameters, parameter ?? '');
  if (op === 'exists') return (found.values[0] !== NOTHING) === value;
  const other = isReference(value) ? single(valuesAt(asked.parameters, value.parameter)) : value;
  const truths = found.values.map((given) => compare(op, given, other));
  return found.isList ? ofEach(truths) : truths[0];
}

/**
 * Whether it asks more than the request.
 * @param {Condition} condition
 */
function isAsking({ earlier, claim }) {
  return earlier !== undefined || claim !== undefined;
}

/**
 * What is claimed supports a value if a claim with it is sure enough, and none with another value is as sure.
 * @param {Condition} condition
 * @param {unknown} value
 * @param {readonly { value: unknown, confidence: number }[]} claims
 */
export function isSupported({ value: least }, value, claims) {
  const surest = Math.max(-1, ...claims.filter((claim) => claim.value === value).map(({ confidence }) => confidence));
  return surest >= Number(least) && !claims.some((claim) => claim.value !== value && claim.confidence >= surest);
}

/**
 * The value that a pointer names.
 * @param {Readonly<Record<string, unknown>>} parameters
 * @param {string} pointer
 * @returns {unknown} undefined unless it is a scalar
 */
export function scalarAt(parameters, pointer) {
  const value = single(valuesAt(parameters, pointer));
  return isScalar(value) ? value : undefined;
}

/**
 * False where one is false; true where all are.
 * @param {readonly Truth[]} truths
 * @returns {Truth}
 */
function allOf(truths) {
  if (truths.includes(false)) return false;
  return truths.includes(undefined) ? undefined : true;
}

/**
 * Of the items of a list: what holds of all of them.
 * @param {readonly Truth[]} truths
 * @returns {Truth}
 */
function ofEach(truths) {
  const [first] = truths;
  return truths.every((truth) => truth === first) ? first : undefined;
}

/**
 * @param {unknown} value
 * @returns {value is { parameter: string }}
 */
function isReference(value) {
  return typeof value === 'object' && value !== null && 'parameter' in value;
}

/**
 * What a JSON Pointer (RFC 6901) names; a `*` names each item of a list.
 * @param {unknown} document
 * @param {string} pointer
 * @returns {{ isList: boolean, values: unknown[] }}
 */
function valuesAt(document, pointer) {
  let isList = false;
  /** @type {unknown[]} */
  let values = [document];
  for (const token of pointer.split('/').slice(1)) {
    if (token === '*' && !isList && Array.isArray(values[0])) [isList, values] = [true, values[0]];
    else values = values.map((value) => memberOf(value, token.replaceAll('~1', '/').replaceAll('~0', '~')));
  }
  return { isList, values };
}

/**
 * @param {unknown} value
 * @param {string} name
 * @returns {unknown}
 */
function memberOf(value, name) {
  if (typeof value !== 'object' || value === null) return NOTHING;
  if (Array.isArray(value))
    return /^(?:0|[1-9]\d*)$/u.test(name) && Number(name) < value.length ? value[Number(name)] : NOTHING;
  return Object.hasOwn(value, name) ? /** @type {JsonObject} */ (value)[name] : NOTHING;
}

/** @param {{ isList: boolean, values: unknown[] }} found */
function single({ isList, values }) {
  return isList ? NOTHING : values[0];
}

/**
 * @param {string} op
 * @param {unknown} given
 * @param {unknown} value
 * @returns {Truth}
 */
function compare(op, given, value) {
  if (!isScalar(given)) return undefined;
  switch (op) {
    case 'eq':
      return isEqual(given, value);
    case 'ne':
      return not(isEqual(given, value));
    case 'in':
      return isAmong(given, /** @type {unknown[]} */ (value));
    case 'not_in':
      return not(isAmong(given, /** @type {unknown[]} */ (value)));
    case 'prefix':
      return typeof given === 'string' ? given.startsWith(String(value)) : undefined;
    case 'within':
      return typeof given === 'string' ? isWithin(given, String(value)) : undefined;
    default:
      return typeof given === 'number' && typeof value === 'number' ? isOrdered(op, given, value) : undefined;
  }
}

/** @param {unknown} value */
function isScalar(value) {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

/**
 * @param {Truth} truth
 * @returns {Truth}
 */
function not(truth) {
  return truth === undefined ? undefined : !truth;
}

/**
 * Null compares with every type, other values with their own.
 * @param {unknown} given
 * @param {unknown} value
 * @returns {Truth}
 */
function isEqual(given, value) {
  if (!isScalar(value)) return undefined;
  if (given === null || value === null || typeof given === typeof value) return given === value;
  return undefined;
}

/**
 * @param {unknown} given
 * @param {readonly unknown[]} values
 * @returns {Truth}
 */
function isAmong(given, values) {
  if (values.includes(given)) return true;
  const isComparable = given === null || values.some((value) => value !== null && typeof value === typeof given);
  return isComparable ? false : undefined;
}

/**
 * @param {string} op
 * @param {number} given
 * @param {number} value
 * @returns {Truth}
 */
function isOrdered(op, given, value) {
  if (op === 'lt') return given < value;
  if (op === 'lte') return given <= value;
  if (op === 'gt') return given > value;
  return op === 'gte' ? given >= value : undefined;
}

/**
 * @param {string} given
 * @param {string} value a path or URL; of a host alone without a path
 * @returns {Truth} unknown also where it lies there only once both are decoded
 */
function isWithin(given, value) {
  const text = given.normalize();
  if (!isUnmistakable(text)) return undefined;
  if (isAtOrBelow(text, value.normalize())) return true;
  return isAtOrBelow(plainForm(text), plainForm(value)) ? undefined : false;
}

/**
 * @param {string} text
 * @param {string} top
 */
function isAtOrBelow(text, top) {
  return text === top || text.startsWith(`${top}/`);
}
