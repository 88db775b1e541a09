/**
 * What limits count: docs/policies.md, Limits. Amounts are exact: whole numbers of the smallest part that one can have.
 *
 * @typedef {{ max: number, of?: string, per: string, by: string }} Limit
 * @typedef {{ id: string, name: string, limits?: readonly Limit[] }} LimitedPolicy
 * @typedef {object} Use as details of entries say it
 * @property {string} policyId
 * @property {number} limit its index
 * @property {string} window its start
 * @property {string | null} key the agent, or null for all
 * @property {string} before
 * @property {string | null} amount
 */

const PLAIN = /^\d+(?:\.\d+)?$/u;
const MOST_DIGITS = 15;
const HOUR = 3_600_000;
const DAYS_FROM_MONDAY = [6, 0, 1, 2, 3, 4, 5];

/**
 * The number as text, where it is one that counts.
 * @param {unknown} value
 * @returns {string | null}
 */
export function amountText(value) {
  if (typeof value !== 'number') return null;
  const text = `${value}`;
  return PLAIN.test(text) && text.replace('.', '').length <= MOST_DIGITS ? text : null;
}

/**
 * @param {unknown} text
 * @returns {text is string} whether it is an amount in its only spelling
 */
export function isAmount(text) {
  return typeof text === 'string' && PLAIN.test(text) && textOf(unitsOf(text)) === text;
}

/**
 * @param {string} text
 * @returns {bigint} how many times 10^-15
 */
export function unitsOf(text) {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(MOST_DIGITS, '0'));
}

/** @param {bigint} units */
export function textOf(units) {
  const digits = `${units}`.padStart(MOST_DIGITS + 1, '0');
  return `${digits.slice(0, -MOST_DIGITS)}.${digits.slice(-MOST_DIGITS)}`.replace(/\.?0+$/u, '');
}

/**
 * The start of the window in which a time lies, in UTC.
 * @param {string} per
 * @param {Date} time
 */
export function windowStart(per, time) {
  const [year, month, day] = [time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate()];
  if (per === 'month') return new Date(Date.UTC(year, month, 1)).toISOString();
  if (per === 'week')
    return new Date(Date.UTC(year, month, day - (DAYS_FROM_MONDAY[time.getUTCDay()] ?? 0))).toISOString();
  const midnight = Date.UTC(year, month, day);
  return new Date(per === 'day' ? midnight : midnight + time.getUTCHours() * HOUR).toISOString();
}

/**
 * What a request asks of each limit of a policy, without what was used before.
 * @param {LimitedPolicy} policy
 * @param {string} agentId
 * @param {{ parameters: Readonly<Record<string, unknown>>, time: Date }} request
 * @returns {Omit<Use, 'before'>[]}
 */
export function usesOf({ id, limits = [] }, agentId, { parameters, time }) {
  return limits.map(({ of, per, by }, limit) => ({
    policyId: id,
    limit,
    window: windowStart(per, time),
    key: by === 'agent' ? agentId : null,
    amount: of === undefined ? '1' : amountText(named(parameters, of)),
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
 * What a JSON Pointer names.
 * @param {unknown} value
 * @param {string} pointer
 * @returns {unknown}
 */
function named(value, pointer) {
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
