import { beginningOf, readingIn } from './clock.mjs';

/**
 * The sums of limits: docs/policies.md, Limits. Amounts are exact: whole numbers of the smallest unit that an amount
 * can have.
 *
 * @typedef {{ max: number, of?: string, per: string, by: string, zone?: string }} Limit
 * @typedef {{ id: string, name: string, limits?: readonly Limit[] }} LimitedPolicy
 * @typedef {object} Use as details of entries say it
 * @property {string} policyId
 * @property {number} limit its index
 * @property {string} window its start
 * @property {string | null} key the agent, or null for all, or a digest of the request that only the service can
 *   compute
 * @property {string} before
 * @property {string | null} amount
 */

/** Stands for the digest of a request. */
export const OF_REQUEST = 'request';
/** HMAC-SHA256 in base64url. No id has this form. */
const DIGEST = /^[\w-]{43}$/u;
const PLAIN = /^\d+(?:\.\d+)?$/u;
const MAX_DIGITS = 15;
/** Hundredths of a limit at which the service warns. */
const WARNED_AT = 80n;
/** More characters than any sum of amounts has: the amount used of a limit never exceeds the limit. */
const MAX_CHARACTERS = 40;
const HOUR = 3_600_000;
const DAYS_FROM_MONDAY = [6, 0, 1, 2, 3, 4, 5];

/**
 * True for the key of a use by equal requests.
 * @param {unknown} key
 */
export function isDigest(key) {
  return typeof key === 'string' && DIGEST.test(key);
}

/**
 * Returns an amount as text; null if it does not count.
 * @param {unknown} value
 * @returns {string | null}
 */
export function amountText(value) {
  if (typeof value !== 'number') return null;
  const text = `${value}`;
  return PLAIN.test(text) && text.replace('.', '').length <= MAX_DIGITS ? text : null;
}

/**
 * @param {unknown} text
 * @returns {text is string} whether it is an amount in its only spelling
 */
export function isAmount(text) {
  return (
    typeof text === 'string' && text.length <= MAX_CHARACTERS && PLAIN.test(text) && textOf(unitsOf(text)) === text
  );
}

/**
 * @param {string} text
 * @returns {bigint} how many times 10^-15
 */
export function unitsOf(text) {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(MAX_DIGITS, '0'));
}

/** @param {bigint} units */
export function textOf(units) {
  const digits = `${units}`.padStart(MAX_DIGITS + 1, '0');
  const [whole, fraction] = [digits.slice(0, -MAX_DIGITS), digits.slice(-MAX_DIGITS)];
  let length = MAX_DIGITS;
  while (fraction[length - 1] === '0') length -= 1;
  return length === 0 ? whole : `${whole}.${fraction.slice(0, length)}`;
}

/**
 * Returns the start of the window that contains a time.
 * @param {Pick<Limit, 'per' | 'zone'>} limit
 * @param {Date} time
 * @returns {string | null} null if the database has no such zone
 */
export function windowStart({ per, zone }, time) {
  if (zone !== undefined) return zonedStart(per, zone, time);
  const start = startOfPeriod(per, time);
  return new Date(per === 'hour' ? start.getTime() + time.getUTCHours() * HOUR : start.getTime()).toISOString();
}

/**
 * Midnight of the first day of the period of a date.
 * @param {string} per
 * @param {Date} date
 * @param {number} [after] how many periods later
 */
function startOfPeriod(per, date, after = 0) {
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (per === 'month') return new Date(Date.UTC(year, month + after, 1));
  if (per !== 'week') return new Date(Date.UTC(year, month, day + after));
  return new Date(Date.UTC(year, month, day - (DAYS_FROM_MONDAY[date.getUTCDay()] ?? 0) + 7 * after));
}

/**
 * The latest of the periods whose first day has begun: when clocks go back over midnight, the day before is shown once
 * more.
 * @param {string} per
 * @param {string} zone
 * @param {Date} time
 */
function zonedStart(per, zone, time) {
  const reading = readingIn(zone, time);
  if (reading === undefined) return null;
  const begun = [0, 1, 2]
    .map((after) => beginningOf(zone, startOfPeriod(per, new Date(reading.date), after)))
    .filter((start) => start !== undefined && start <= time);
  return begun.at(-1)?.toISOString() ?? null;
}

/**
 * Returns the uses that a request makes of the limits of a policy, without earlier uses.
 * @param {LimitedPolicy} policy
 * @param {string} agentId
 * @param {{ parameters: Readonly<Record<string, unknown>>, time: Date }} request
 * @returns {Omit<Use, 'before'>[]}
 */
export function usesOf({ id, limits = [] }, agentId, { parameters, time }) {
  return limits.map(({ of, per, by, zone }, limit) => ({
    policyId: id,
    limit,
    window: windowStart({ per, ...(zone === undefined ? {} : { zone }) }, time) ?? '',
    key: by === 'policy' ? null : by === 'agent' ? agentId : OF_REQUEST,
    amount: of === undefined ? '1' : amountText(pointerValue(parameters, of)),
  }));
}

/**
 * @param {Limit} limit
 * @param {Pick<Use, 'before' | 'amount'>} use
 */
export function isWithin({ max }, { before, amount }) {
  return amount !== null && unitsOf(before) + unitsOf(amount) <= unitsOf(amountText(max) ?? '0');
}

/**
 * True if the use takes the sum to 80 % of the maximum, or beyond. Of equal requests the service does not warn.
 * @param {Limit} limit
 * @param {{ before: string, amount: string }} use
 */
export function isWarnedOf({ max, by }, { before, amount }) {
  const warned = unitsOf(amountText(max) ?? '0') * WARNED_AT;
  const isReached = (/** @type {bigint} */ used) => used * 100n >= warned;
  return by !== 'request' && !isReached(unitsOf(before)) && isReached(unitsOf(before) + unitsOf(amount));
}

/**
 * Returns the value that a JSON Pointer names.
 * @param {unknown} value
 * @param {string} pointer
 * @returns {unknown}
 */
function pointerValue(value, pointer) {
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    const isThere =
      typeof value === 'object' &&
      value !== null &&
      (Array.isArray(value) ? /^(?:0|[1-9]\d*)$/u.test(name) : Object.hasOwn(value, name));
    if (!isThere) return undefined;
    value = /** @type {Record<string, unknown>} */ (value)[name];
  }
  return value;
}
