import { OPERATOR } from './narration.mjs';

/**
 * The API keys by the entries of a log so far, and what each of them permits: docs/api-decisions.md, "Keys".
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {object} Key
 * @property {string | null} agentId of the agent to which the key is bound; null if it is bound to nobody
 * @property {ReadonlySet<string>} scopes with those that `admin` implies
 * @property {readonly string[] | null} principals patterns of those on whose behalf its holder may act; null for
 *   anybody
 * @property {string | null} team
 * @property {string | null} expiresAt
 * @property {string | null} createdAt null for the key of the operator
 */

/** Actions after which a key is good for nothing. */
const ENDING = ['api_key.revoked', 'api_key.expired'];
/** The scopes that `admin` implies. */
const IMPLIED = ['read', 'audit', 'entities', 'agents', 'execute', 'propose', 'review', 'policies', 'admin'];

/** The key that the service was started with. @type {Key} */
const OPERATORS_KEY = {
  agentId: null,
  scopes: new Set(IMPLIED),
  principals: null,
  team: null,
  expiresAt: null,
  createdAt: null,
};

export class KeyRegistry {
  /** Maps ids to keys that nobody has revoked and no entry has settled as expired. @type {Map<string, Key>} */
  #keys = new Map();

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state
   */
  add({ action, subjectId }, state) {
    if (action === 'api_key.created' && state) this.#keys.set(subjectId, keyOf(state));
    if (ENDING.includes(action)) this.#keys.delete(subjectId);
  }

  /**
   * Returns a key that is in force. A key is good for nothing from its expiry on, even if no entry says so yet.
   * @param {string} id
   * @param {string} timestamp
   * @returns {Key | undefined}
   */
  get(id, timestamp) {
    if (id === OPERATOR) return OPERATORS_KEY;
    const key = this.#keys.get(id);
    return key === undefined || (key.expiresAt !== null && key.expiresAt <= timestamp) ? undefined : key;
  }
}

/**
 * Returns what a key permits. The state of a key without principals, or without a team, lacks that member.
 * @param {Json} state
 * @returns {Key}
 */
function keyOf({ agentId, scopes, principals = [], team = null, expiresAt, createdAt }) {
  const isForAnybody = agentId === null && team === null;
  const effectiveScopes = scopes.includes('admin') ? IMPLIED : scopes;
  return {
    agentId,
    scopes: new Set(effectiveScopes),
    principals: isForAnybody ? null : principals,
    team,
    expiresAt,
    createdAt,
  };
}
