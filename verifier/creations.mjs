/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */

/** The actions that create records on which decisions rest, by kind. @type {Readonly<Record<string, string>>} */
const CREATING = {
  agent: 'agent.created',
  api_key: 'api_key.created',
  claim: 'claim.added',
  delegation: 'delegation.created',
  entity: 'entity.created',
  grant: 'grant.created',
  passkey: 'passkey.registered',
  policy: 'policy.created',
  stop: 'stop.created',
};

/** Checks that no record is created twice: the service gives each id once, also after the record was removed. */
export class Creations {
  /** @type {Set<unknown>} */
  #ids = new Set();

  /**
   * @param {JsonObject} entry the next one of the chain
   * @returns {string[]} its faults
   */
  add({ action, subjectType, subjectId }) {
    const kind = String(subjectType);
    if (!Object.hasOwn(CREATING, kind) || CREATING[kind] !== action) return [];
    if (this.#ids.has(subjectId)) return [`${String(action)} of the id ${String(subjectId)}, which was created before`];
    this.#ids.add(subjectId);
    return [];
  }
}
