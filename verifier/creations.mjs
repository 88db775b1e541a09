/** @typedef {import('./entry-check.mjs').JsonObject} JsonObject */

/**
 * The actions that create records on which decisions rest, by kind, each with the beginning of the ids that it gives.
 * @type {Readonly<Record<string, { action: string, prefix: string }>>}
 */
const CREATING = {
  agent: { action: 'agent.created', prefix: 'agt_' },
  api_key: { action: 'api_key.created', prefix: 'key_' },
  claim: { action: 'claim.added', prefix: 'clm_' },
  delegation: { action: 'delegation.created', prefix: 'dlg_' },
  entity: { action: 'entity.created', prefix: 'ent_' },
  grant: { action: 'grant.created', prefix: 'grt_' },
  passkey: { action: 'passkey.registered', prefix: 'psk_' },
  policy: { action: 'policy.created', prefix: 'pol_' },
  stop: { action: 'stop.created', prefix: 'stp_' },
};
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/u;

/**
 * Checks that no record is created twice, and that its id is one of its kind: the service gives each id once, also after the record was
 * removed.
 */
export class Creations {
  /** @type {Set<unknown>} */
  #ids = new Set();

  /**
   * @param {JsonObject} entry the next one of the chain
   * @returns {string[]} its faults
   */
  add({ action, subjectType, subjectId }) {
    const kind = String(subjectType);
    const { action: creating, prefix = '' } = (Object.hasOwn(CREATING, kind) ? CREATING[kind] : undefined) ?? {};
    if (creating !== action) return [];
    const id = String(subjectId);
    const isBefore = this.#ids.has(id);
    this.#ids.add(id);
    return [
      ...(isBefore ? [`${String(action)} of the id ${id}, which was created before`] : []),
      ...(id.startsWith(prefix) && ULID.test(id.slice(prefix.length))
        ? []
        : [`${String(action)} of the id ${id}, which no ${kind} has`]),
    ];
  }
}
