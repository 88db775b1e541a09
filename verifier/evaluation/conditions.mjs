import { isBetween } from './clock.mjs';
import { isInDomain, nameIn } from './hosts.mjs';
import { principalParts } from './principals.mjs';
import { withoutSlash } from './resources.mjs';
import { normalFormC } from './normal-form.mjs';
import { isUnmistakable, plainForm } from './spelling.mjs';

/**
 * The truth of conditions for a request: true, false, or undefined for unknown. docs/policies.md, Conditions.
 *
 * @typedef {Readonly<Record<string, unknown>>} JsonObject
 * @typedef {{ parameters: JsonObject, time: Date, resourceId: string, principal?: import('./principals.mjs').Principal | null, evaluation?: number }} ConditionInput
 * @typedef {true | false | undefined} Truth
 * @typedef {{ spelled: string, plain: string }} Path a text in normal form C, and decoded
 * @typedef {{ paths: Map<string, Path | null>, hosts: Map<string, string | null>, tops: Map<string, Path>, evaluation: number }} Readings null for
 * texts that could be read otherwise; `tops` has those of the conditions
 * @typedef {Readonly<{ parameter?: string, principal?: string, clock?: string, days?: readonly string[], except?: readonly string[], earlier?: string, within?: string | null, resource?: string | null, claim?: string, op: string, value: unknown }>} Condition
 */

/** Most characters of a text that is compared with another one of the request, or read as a path. */
const MAX_COMPARED_CHARACTERS = 4_096;
/** Most characters of all texts of a list that are read as paths or hosts. */
const MAX_READ_CHARACTERS = 65_536;
/**
 * Maps the parameters of requests to what is read of their texts: many conditions read the same ones.
 * @type {WeakMap<JsonObject, Readings>}
 */
const READINGS = new WeakMap();
/** Stands for an absent value. */
const NOTHING = Symbol('nothing');
/** Stands for what lies below a replaced secret or hash: it may have been there or not. */
const HIDDEN = Symbol('hidden');

/**
 * @param {readonly Condition[]} conditions
 * @param {ConditionInput} input
 * @param {(index: number) => Truth} truthOf the truth of a condition that needs facts
 * @returns {Truth} true if all conditions are true
 */
export function areTrue(conditions, input, truthOf) {
  return allOf(
    conditions.map((condition, index) => (needsFacts(condition) ? truthOf(index) : isTrue(condition, input))),
  );
}

/**
 * @param {Condition} condition
 * @param {ConditionInput} input
 * @returns {Truth}
 */
export function isTrue(condition, input) {
  const truth = asSpelled(condition, input);
  const isEqual = truth === (condition.op === 'eq' || condition.op === 'in');
  if (versionOf(input) < 4 || isEqual || !isOnResource(condition) || !input.resourceId.includes('%')) return truth;
  // Another spelling of an equal resource is unknown.
  return asSpelled(condition, { ...input, resourceId: plainForm(input.resourceId) }) === truth ? truth : undefined;
}

/** @param {Condition} condition */
function isOnResource({ earlier, resource, value }) {
  return earlier === undefined && (typeof resource === 'string' || (isReference(value) && 'resource' in value));
}

/**
 * The truth of a condition for the resource as it is spelled.
 * @param {Condition} condition
 * @param {ConditionInput} input
 * @returns {Truth}
 */
function asSpelled(condition, input) {
  const { clock, days, except, op, value } = condition;
  if (clock !== undefined) {
    const [from = '', to = ''] = /** @type {string[]} */ (value);
    return isBetween(input.time, { zone: clock, days, except, from, to });
  }
  const operand = operandOf(condition, input);
  if (op === 'exists') return operand.values[0] === HIDDEN ? undefined : (operand.values[0] !== NOTHING) === value;
  const isOfRequest = isReference(value);
  const expected = isOfRequest ? single(operandOf(value, input)) : value;
  if (versionOf(input) >= 3 && operand.isList && readsTooMuch(op, operand.values)) return undefined;
  const isBounded = versionOf(input) >= 3 && (isOfRequest || op === 'within');
  const truths = operand.values.map((operandValue) =>
    isBounded && (isLong(operandValue) || isLong(expected))
      ? undefined
      : compare(op, operandValue, expected, readingsOf(input)),
  );
  return operand.isList ? ofEach(truths) : truths[0];
}

/**
 * True if a list has too many characters for a condition that reads its texts as paths, URLs or hosts.
 * @param {string} op
 * @param {readonly unknown[]} values
 */
function readsTooMuch(op, values) {
  if (op !== 'within' && op !== 'domain') return false;
  const lengths = values.map((value) => (typeof value === 'string' ? value.length : 0));
  return lengths.reduce((sum, length) => sum + length, 0) > MAX_READ_CHARACTERS;
}

/**
 * The version of the rules by which a request is decided.
 * @param {ConditionInput} input
 */
function versionOf({ evaluation = 1 }) {
  return evaluation;
}

/** @param {unknown} value */
function isLong(value) {
  return typeof value === 'string' && value.length > MAX_COMPARED_CHARACTERS;
}

/**
 * The part of a request that a reference names.
 * @param {{ parameter?: string, principal?: string }} reference to a parameter, to the principal, or else to the
 *   resource
 * @param {ConditionInput} input
 * @returns {{ isList: boolean, values: unknown[] }}
 */
function operandOf({ parameter, principal }, input) {
  if (parameter !== undefined) return valuesAt(input.parameters, parameter, versionOf(input) >= 3);
  if (principal === undefined) {
    const segments = withoutSlash(input.resourceId).split('/');
    return { isList: false, values: [normalFormC(segments.at(-1) ?? '')] };
  }
  const parts = input.principal ? principalParts(input.principal) : undefined;
  return { isList: false, values: [parts === undefined ? NOTHING : principal === 'id' ? parts.id : parts.type] };
}

/**
 * True if the condition needs facts in addition to the request.
 * @param {Condition} condition
 */
function needsFacts({ earlier, claim }) {
  return earlier !== undefined || claim !== undefined;
}

/**
 * True if a claim with the value is sure enough, and no claim with another value is as sure.
 * @param {Condition} condition
 * @param {unknown} value
 * @param {readonly { value: unknown, confidence: number }[]} claims
 */
export function isSupported({ value: least }, value, claims) {
  const surest = Math.max(-1, ...claims.filter((claim) => claim.value === value).map(({ confidence }) => confidence));
  return surest >= Number(least) && !claims.some((claim) => claim.value !== value && claim.confidence >= surest);
}

/**
 * Returns the value that a pointer names.
 * @param {Readonly<Record<string, unknown>>} parameters
 * @param {string} pointer
 * @param {boolean} isRedacted whether secrets were replaced
 * @returns {unknown} undefined unless it is a scalar
 */
export function scalarAt(parameters, pointer, isRedacted) {
  const value = single(valuesAt(parameters, pointer, isRedacted));
  return isScalar(value) ? value : undefined;
}

/**
 * Returns false if a truth is false, and true if all are true.
 * @param {readonly Truth[]} truths
 * @returns {Truth}
 */
function allOf(truths) {
  if (truths.includes(false)) return false;
  return truths.includes(undefined) ? undefined : true;
}

/**
 * Returns the truth that all items of a list share; otherwise undefined.
 * @param {readonly Truth[]} truths
 * @returns {Truth}
 */
function ofEach(truths) {
  const [first] = truths;
  return truths.every((truth) => truth === first) ? first : undefined;
}

/**
 * @param {unknown} value
 * @returns {value is { parameter?: string, principal?: string }}
 */
function isReference(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the values that a JSON Pointer (RFC 6901) names; a `*` names each item of a list.
 * @param {unknown} document
 * @param {string} pointer
 * @param {boolean} isRedacted whether secrets were replaced
 * @returns {{ isList: boolean, values: unknown[] }}
 */
function valuesAt(document, pointer, isRedacted) {
  let isList = false;
  /** @type {unknown[]} */
  let values = [document];
  const tokens = pointer.split('/').slice(1);
  for (const [index, token] of tokens.entries()) {
    if (token === '*' && !isList && Array.isArray(values[0])) [isList, values] = [true, values[0]];
    else {
      const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
      const isLast = index === tokens.length - 1;
      values = values.map(
        (value) => (isRedacted ? redactedMember(value, name, isLast) : undefined) ?? memberOf(value, name),
      );
    }
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

/**
 * Returns what conditions see in place of a member that the service has written; undefined for other members.
 * @param {unknown} value
 * @param {string} name
 * @param {boolean} isLast whether the pointer ends with the name
 */
function redactedMember(value, name, isLast) {
  if (value === HIDDEN) return HIDDEN;
  if (typeof value !== 'object' || value === null) return undefined;
  const [first, second, ...others] = Object.keys(value).sort();
  if (first === '$secret' && second === undefined)
    return typeof (/** @type {JsonObject} */ (value)['$secret']) === 'string' ? HIDDEN : undefined;
  if (first !== '$hmac' || second !== 'bytes' || others.length > 0) return undefined;
  if (isLast && name === 'bytes') return undefined;
  // The HMAC is there, and compares with nothing.
  return isLast && name === '$hmac' ? {} : HIDDEN;
}

/** @param {{ isList: boolean, values: unknown[] }} found */
function single({ isList, values }) {
  return isList ? NOTHING : values[0];
}

/**
 * @param {string} op
 * @param {unknown} operand
 * @param {unknown} value
 * @param {Readings} readings of the request
 * @returns {Truth}
 */
function compare(op, operand, value, readings) {
  if (!isScalar(operand)) return undefined;
  switch (op) {
    case 'eq':
      return isEqual(operand, value);
    case 'ne':
      return not(isEqual(operand, value));
    case 'in':
      return isAmong(operand, /** @type {unknown[]} */ (value));
    case 'not_in':
      return not(isAmong(operand, /** @type {unknown[]} */ (value)));
    case 'prefix':
      return typeof operand === 'string' ? operand.startsWith(String(value)) : undefined;
    case 'domain':
      return typeof operand === 'string'
        ? isInDomain(hostIn(operand, readings), /** @type {string[]} */ (value))
        : undefined;
    case 'within':
      return typeof operand === 'string' ? isWithin(operand, String(value), readings) : undefined;
    default:
      return typeof operand === 'number' && typeof value === 'number' ? isOrdered(op, operand, value) : undefined;
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
 * True if the values are equal; undefined if they cannot be compared. Null compares with every type, other values with
 * their own.
 * @param {unknown} operand
 * @param {unknown} value
 * @returns {Truth}
 */
function isEqual(operand, value) {
  if (!isScalar(value)) return undefined;
  if (operand === null || value === null || typeof operand === typeof value) return operand === value;
  return undefined;
}

/**
 * @param {unknown} operand
 * @param {readonly unknown[]} values
 * @returns {Truth}
 */
function isAmong(operand, values) {
  if (values.includes(operand)) return true;
  const isComparable = operand === null || values.some((value) => value !== null && typeof value === typeof operand);
  return isComparable ? false : undefined;
}

/**
 * @param {string} op
 * @param {number} operand
 * @param {number} value
 * @returns {Truth}
 */
function isOrdered(op, operand, value) {
  if (op === 'lt') return operand < value;
  if (op === 'lte') return operand <= value;
  if (op === 'gt') return operand > value;
  return op === 'gte' ? operand >= value : undefined;
}

/**
 * @param {string} operand
 * @param {string} value a path or URL; a host alone has no path
 * @param {Readings} readings of the request
 * @returns {Truth} undefined, too, if the operand lies there only after both are decoded
 */
function isWithin(operand, value, { paths, tops }) {
  const path = remembered(paths, operand, () => (isUnmistakable(normalFormC(operand)) ? pathOf(operand) : null));
  if (path === null) return undefined;
  const top = remembered(tops, value, () => pathOf(value));
  if (isAtOrBelow(path.spelled, top.spelled)) return true;
  return isAtOrBelow(path.plain, top.plain) ? undefined : false;
}

/**
 * @param {string} text
 * @param {Readings} readings of the request
 */
function hostIn(text, { hosts, evaluation }) {
  return remembered(hosts, text, () => nameIn(text, evaluation));
}

/**
 * @param {ConditionInput} input
 * @returns {Readings}
 */
function readingsOf(input) {
  const { parameters } = input;
  const earlier = READINGS.get(parameters);
  const evaluation = versionOf(input);
  if (earlier?.evaluation === evaluation) return earlier;
  const readings = { paths: new Map(), hosts: new Map(), tops: new Map(), evaluation };
  READINGS.set(parameters, readings);
  return readings;
}

/**
 * Returns what a text is read as; it is read once.
 * @template Reading
 * @param {Map<string, Reading>} readings
 * @param {string} text
 * @param {() => Reading} read
 * @returns {Reading}
 */
function remembered(readings, text, read) {
  const earlier = readings.get(text);
  if (earlier !== undefined) return earlier;
  const reading = read();
  readings.set(text, reading);
  return reading;
}

/**
 * @param {string} text
 * @returns {Path}
 */
function pathOf(text) {
  const spelled = normalFormC(text);
  return { spelled, plain: plainForm(spelled) };
}

/**
 * @param {string} text
 * @param {string} top
 */
function isAtOrBelow(text, top) {
  return text === top || text.startsWith(`${top}/`);
}
