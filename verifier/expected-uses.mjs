import { hashOf } from './canonical-json.mjs';
import { AUTHORISING } from './decision/history.mjs';
import { short } from './decision/report.mjs';
import { hashOfRequest } from './decision/request-hash.mjs';
import { isObject } from './entry-check.mjs';
import { MAX_NAMED } from './evaluation/evaluate.mjs';
import { isAmount, isDigest, isWithin, OF_REQUEST, usesOf } from './evaluation/limits.mjs';
import { ZONES } from './evaluation/zone-data.mjs';

/**
 * @typedef {import('./entry-check.mjs').JsonObject} JsonObject
 * @typedef {import('./evaluation/limits.mjs').Limit} Limit
 * @typedef {{ name: string, limits: readonly unknown[], rank: string, content: string }} LimitedPolicy
 * @typedef {{ agentId: unknown, timestamp: unknown }} ErasedAuthorization
 */

/** The outcomes of executions that were authorised. */
const AUTHORISED = ['authorized', 'running', 'executed', 'failed', 'interrupted'];
const DAY = 86_400_000;
/** Maximum length of a window in milliseconds, by any version of the IANA database. */
const MAX_WINDOW_MS = { hour: DAY / 24, day: 3 * DAY, week: 9 * DAY, month: 33 * DAY };

/**
 * Compares the uses of limits that entries state with the uses that follow from their policies, agents, times and
 * parameters.
 */
export class ExpectedUses {
  /** Maps ids to policies. @type {Map<string, LimitedPolicy>} */
  #policies = new Map();
  /** Maps digests to the hashes of the requests that they stand for. @type {Map<string, string>} */
  #requests = new Map();
  /**
   * Maps executions whose authorisation has lost its contents, until their erasure is read.
   * @type {Map<string, ErasedAuthorization>}
   */
  #erased = new Map();
  /**
   * The last digest of each request, when it was used, and when another one was.
   * @type {Map<string, { key: unknown, time: string, otherTime: string }>}
   */
  #digests = new Map();
  /** Number of uses in windows of zones by another version of the IANA database than the verifier has. */
  foreignWindows = 0;
  /** Number of uses whose request has another digest than an equal one in the same window. */
  otherDigests = 0;

  /**
   * @param {JsonObject} state of a policy
   * @returns {string[]} faults
   */
  notePolicy({ id, name, limits = [], priority, effect }) {
    const content = hashOf([name, limits]);
    const earlier = this.#policies.get(String(id));
    if (earlier !== undefined)
      return earlier.content === content ? [] : ['the name or the limits of the policy are others than before'];
    const rank = hashOf([priority, effect]);
    this.#policies.set(String(id), { name: String(name), limits: Array.isArray(limits) ? limits : [], rank, content });
    return Array.isArray(limits) && limits.every(isLimit) ? [] : ['the limits of the policy have another form'];
  }

  /**
   * Notes an entry that authorised an execution, and has lost its contents.
   * @param {JsonObject} entry
   */
  noteErased({ subjectId, timestamp, audit }) {
    this.#erased.set(String(subjectId), { agentId: isObject(audit) ? audit['agentId'] : undefined, timestamp });
  }

  /**
   * @param {JsonObject} entry of an execution, with its details
   * @param {{ used: readonly unknown[], limited: readonly unknown[] }} uses in them
   * @returns {string[]} faults
   */
  faults(entry, { used, limited }) {
    if (entry['action'] === 'execution.erased') return this.#erasureFaults(entry, used);
    const { policies } = detailsOf(entry);
    const isTaken = AUTHORISING.includes(String(entry['action']));
    return [
      ...this.#namingFaults(isTaken ? policies : [], used),
      ...used.flatMap((use) => this.#useFaults('used', use, entry)),
      ...limited.flatMap((use) => this.#useFaults('limited', use, entry)),
    ];
  }

  /**
   * @param {JsonObject} entry
   * @param {readonly unknown[]} used
   */
  #erasureFaults({ subjectId, state, audit }, used) {
    const authorization = this.#erased.get(String(subjectId));
    this.#erased.delete(String(subjectId));
    const { outcome, policies } = isObject(state) ? state : {};
    const isAuthorised = AUTHORISED.includes(String(outcome));
    const outcomeFaults =
      authorization === undefined || isAuthorised
        ? []
        : [`says that the outcome was ${short(outcome)}, and an entry before authorised the execution`];
    // The time is known only if the authorising entry lost its contents. Otherwise that entry stated the uses itself.
    const { agentId, timestamp } = authorization ?? { agentId: isObject(audit) ? audit['agentId'] : undefined };
    return [
      ...outcomeFaults,
      ...this.#namingFaults(isAuthorised ? policies : [], used),
      ...used.flatMap((use) => this.#useFaults('used', use, { timestamp, audit: { agentId }, state: null })),
    ];
  }

  /**
   * Checks that an entry names one use of each limit of the policies that decided, and no other.
   * @param {unknown} policies
   * @param {readonly unknown[]} used
   */
  #namingFaults(policies, used) {
    const decidingIds = (Array.isArray(policies) ? policies : []).filter(isObject).map(({ id }) => String(id));
    // If more policies decided, an entry names only the oldest, but uses the limits of all of them.
    const youngestId = decidingIds.length < MAX_NAMED ? undefined : decidingIds.at(-1);
    const rank = this.#policies.get(String(youngestId))?.rank;
    const unnamedIds = used
      .map((use) => (isObject(use) ? String(use['policyId']) : ''))
      .filter((id) => youngestId !== undefined && id > youngestId && this.#policies.get(id)?.rank === rank);
    const ids = new Set([...decidingIds, ...unnamedIds]);
    const expected = [...ids].flatMap((id) =>
      (this.#policies.get(id)?.limits ?? []).map((_, limit) => `${id} ${String(limit)}`),
    );
    const actual = used.map((use) => (isObject(use) ? `${String(use['policyId'])} ${String(use['limit'])}` : ''));
    return expected.sort().join() === actual.sort().join()
      ? []
      : ['details.used names other limits than the policies that allowed it have'];
  }

  /**
   * @param {string} list
   * @param {unknown} use
   * @param {JsonObject} entry
   */
  #useFaults(list, use, entry) {
    if (!isObject(use)) return [];
    const policy = this.#policies.get(String(use['policyId']));
    const limit = policy?.limits[Number(use['limit'])];
    // Items that name no limit are found when they are added up.
    if (policy === undefined || !isLimit(limit)) return [];
    const expected = this.#expectedUse(limit, use, entry);
    const place = `details.${list} has a use of ${policy.name} [${String(use['limit'])}]`;
    return [
      ...Object.entries(expected).flatMap(([name, value]) =>
        use[name] === value
          ? []
          : [`${place} with the ${name} ${short(use[name])}, and the entry leads to ${short(value)}`],
      ),
      ...(limit.by === OF_REQUEST ? this.#digestFaults(list, use, entry) : []),
      ...(isTakenWithin(list === 'used', limit, use)
        ? []
        : [`${place} that ${list === 'used' ? 'exceeds it' : 'it allows'}`]),
    ];
  }

  /**
   * Returns those members of a use to which the entry leads.
   * @param {Limit} limit
   * @param {JsonObject} use
   * @param {JsonObject} entry
   * @returns {Partial<Record<'window' | 'key' | 'amount', string | null>>}
   */
  #expectedUse(limit, use, { timestamp, audit, state }) {
    const hasParameters = isObject(state);
    const parameters = hasParameters && isObject(state['parameters']) ? state['parameters'] : {};
    const time = new Date(typeof timestamp === 'string' ? timestamp : NaN);
    const hasTime = !Number.isNaN(time.getTime());
    const agentId = isObject(audit) ? String(audit['agentId']) : '';
    const request = { parameters, time: hasTime ? time : new Date(0) };
    const [expected] = usesOf({ id: '', name: '', limits: [limit] }, agentId, request);
    if (expected === undefined) return {};
    const { window, key, amount } = expected;
    const isForeign = hasTime && use['window'] !== window && isForeignWindow(limit, use, { time, audit });
    if (isForeign) this.foreignWindows += 1;
    return {
      ...(hasTime && !isForeign && { window }),
      ...(limit.by !== OF_REQUEST && { key }),
      ...((limit.of === undefined || hasParameters) && { amount }),
    };
  }

  /**
   * Checks that no digest stands for two requests. Two digests may stand for one: the service may have changed its key.
   * @param {string} list
   * @param {JsonObject} use
   * @param {JsonObject} entry
   */
  #digestFaults(list, { key, window }, { state, timestamp }) {
    if (!isDigest(key)) return [`details.${list} has a key that is no digest of a request`];
    // The contents of the execution may have been erased.
    if (!isObject(state)) return [];
    const hash = hashOfRequest(state);
    const firstHash = this.#requests.get(String(key)) ?? hash;
    this.#requests.set(String(key), firstHash);
    const last = this.#digests.get(hash);
    const otherTime = last === undefined || last.key === key ? (last?.otherTime ?? '') : last.time;
    if (otherTime >= String(window)) this.otherDigests += 1;
    if (list === 'used') this.#digests.set(hash, { key, time: String(timestamp), otherTime });
    return firstHash === hash ? [] : [`details.${list} has the digest of another request`];
  }
}

/**
 * True if a use that was taken keeps to the limit, and one that was not exceeds it.
 * @param {boolean} isTaken
 * @param {Limit} limit
 * @param {JsonObject} use
 */
function isTakenWithin(isTaken, limit, { before, amount }) {
  // Other forms are found when uses are added up.
  if (!isAmount(before) || !(amount === null || isAmount(amount))) return true;
  return isWithin(limit, { before, amount }) === isTaken;
}

/**
 * @param {unknown} limit
 * @returns {limit is Limit}
 */
function isLimit(limit) {
  return (
    isObject(limit) &&
    ['agent', 'policy', OF_REQUEST].includes(String(limit['by'])) &&
    Object.hasOwn(MAX_WINDOW_MS, String(limit['per'])) &&
    ['string', 'undefined'].includes(typeof limit['zone']) &&
    ['string', 'undefined'].includes(typeof limit['of'])
  );
}

/**
 * True if a window may have begun as the use says by another version of the IANA database than that of the verifier.
 * @param {Limit} limit
 * @param {JsonObject} use
 * @param {{ time: Date, audit: unknown }} entry
 */
function isForeignWindow({ zone, per }, { window }, { time, audit }) {
  const isErased = !isObject(audit) || !isObject(audit['details']);
  const { zones } = detailsOf({ audit });
  // The details of an erased execution name no version.
  const hasOwnZones = zones === ZONES.version || (zones === undefined && !isErased && ZONES.zones.length > 0);
  if (zone === undefined || hasOwnZones) return false;
  const length = time.getTime() - Date.parse(String(window));
  return length >= 0 && length < MAX_WINDOW_MS[/** @type {'day'} */ (per)];
}

/**
 * @param {JsonObject} entry
 * @returns {JsonObject}
 */
function detailsOf({ audit }) {
  const details = isObject(audit) ? audit['details'] : undefined;
  return isObject(details) ? details : {};
}
