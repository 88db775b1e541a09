import { beginningOf, readingIn } from './clock.mjs';

/**
 * Computes the uses of limits as docs/policies.md, "Limits", defines them. Amounts are exact: bigints that count units
 * of 10^-15.
 *
 * @typedef {{ max: number, of?: string, per: string, by: string, zone?: string }} Limit
 * @typedef {{ id: string, name: string, limits?: readonly Limit[] }} LimitedPolicy
 * @typedef {object} Use a use of a limit, as the details of entries have it
 * @property {string} policyId
 * @property {number} limit index of the limit in its policy
 * @property {string} window start of the window, in ISO 8601
 * @property {string | null} key the agent, or null for all, or a digest of the request that only the service can
 *   compute
 * @property {string} before sum before this use
 * @property {string | null} amount amount of the use; null if the request has none that counts
 */

/** Key of a use by equal requests, in place of the digest, which only the service can compute. */
export const OF_REQUEST = 'request';
/** Form of a digest: an HMAC-SHA256 in base64url. No id has this form. */
const DIGEST = /^[\w-]{43}$/u;
const PLAIN = /^\d+(?:\.\d+)?$/u;
const MAX_DIGITS = 15;
/** Percentage of a maximum at which the service warns. */
const WARNED_AT = 80n;
/** Upper bound of the characters of a sum: no sum exceeds its maximum, which has far fewer. */
const MAX_CHARACTERS = 40;
const HOUR = 3_600_000;
const DAYS_FROM_MONDAY = [6, 0, 1, 2, 3, 4, 5];

/**
 * True for the key of a use of a limit that counts equal requests.
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
 * True if the value is an amount in the only spelling that the service writes: `1.5`, not `01.50`.
 * @param {unknown} text
 * @returns {text is string}
 */
export function isAmount(text) {
  return (
    typeof text === 'string' && text.length <= MAX_CHARACTERS && PLAIN.test(text) && textOf(unitsOf(text)) === text
  );
}

/**
 * Converts the text of an amount into units of 10^-15.
 * @param {string} text
 * @returns {bigint}
 */
export function unitsOf(text) {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(MAX_DIGITS, '0'));
}

/**
 * Converts units of 10^-15 into the text of an amount.
 * @param {bigint} units
 */
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
 * Returns midnight, in UTC, of the first day of the period that contains a date.
 * @param {string} per
 * @param {Date} date
 * @param {number} [after] number of periods after that one
 */
function startOfPeriod(per, date, after = 0) {
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (per === 'month') return new Date(Date.UTC(year, month + after, 1));
  if (per !== 'week') return new Date(Date.UTC(year, month, day + after));
  return new Date(Date.UTC(year, month, day - (DAYS_FROM_MONDAY[date.getUTCDay()] ?? 0) + 7 * after));
}

/**
 * Returns the start of the latest period in a zone that has begun; null if the database has no such zone. The date on
 * the clock does not tell: when clocks go back over midnight, they show the day before once more.
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
 * True if the amount still fits into the limit; a missing amount never fits.
 * @param {Limit} limit
 * @param {Pick<Use, 'before' | 'amount'>} use
 */
export function isWithin({ max }, { before, amount }) {
  return amount !== null && unitsOf(before) + unitsOf(amount) <= unitsOf(amountText(max) ?? '0');
}

/**
 * True if the use takes the sum to 80 % of the maximum, or beyond. The service does not warn about limits that count
 * equal requests.
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
