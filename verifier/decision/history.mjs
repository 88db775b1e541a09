export const AUTHORISING = ['execution.authorized', 'execution.resumed'];

/**
 * The entries of a decision file by what they are about.
 *
 * @typedef {import('./read-file.mjs').DecisionFile} DecisionFile
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 */
export class History {
  /** @type {Map<string, { policies: Policy[], defaultEffect: string }>} */
  #rules = new Map();
  /** Entries of agents, and of earlier executions, that were asked for. @type {Set<Json>} */
  #named = new Set();
  /** Which stops were asked for. @type {Set<string>} */
  #stops = new Set();
  /** Which agents were asked for, at which revision, before which entry. @type {{ id: string, revision: unknown, before: number }[]} */
  namedAgents = [];
  /** Which passkeys signed, before which entry. @type {{ id: string, before: number }[]} */
  namedPasskeys = [];

  /**
   * @param {DecisionFile} file
   * @param {ReadonlySet<string>} made the signatures that the keys of their passkeys made
   */
  constructor({ executionId, entries, rules, policies }, made) {
    this.entries = entries;
    this.made = made;
    this.executionId = executionId;
    this.ofExecution = entries.filter((entry) => isAbout(entry, 'execution', executionId));
    /** Of the decision that it waited for, or whose rejection kept it from being asked again. @type {string | null} */
    this.decisionId = this.ofExecution.at(-1)?.['state']?.decisionId ?? null;
    this.ofDecision = this.of('decision', this.decisionId);
    /** The grant that authorised it. @type {string | null} */
    this.grantId = this.ofExecution[0]?.['state']?.grantId ?? null;
    const byId = new Map(policies.map((policy) => [policy.id, policy]));
    for (const { hash, defaultEffect, policies: ids } of rules) {
      // Sorted as the service sorts them: the identifiers of older policies come first.
      this.#rules.set(hash, { defaultEffect, policies: [...ids].sort().flatMap((id) => byId.get(id) ?? []) });
    }
  }

  /**
   * The entries about a subject.
   * @param {string} type
   * @param {string | null} id
   */
  of(type, id) {
    return this.entries.filter((entry) => isAbout(entry, type, id));
  }

  /** The grant as it was made. @returns {Json | undefined} */
  get grant() {
    return this.of('grant', this.grantId)[0]?.['state'];
  }

  /** @param {string} hash */
  rules(hash) {
    return this.#rules.get(hash);
  }

  /**
   * An agent as the last entry about it before a sequence left it.
   * @param {string} id
   * @param {unknown} revision that this entry has to have
   * @param {number} before
   * @returns {Json | undefined}
   */
  agent(id, revision, before) {
    const found = this.entries.findLast(
      (entry) => isAbout(entry, 'agent', id) && entry['sequence'] < before && entry['state']?.revision === revision,
    );
    this.namedAgents.push({ id, revision, before });
    if (found !== undefined) this.#named.add(found);
    return found?.['state'];
  }

  /**
   * The first entry that authorised an execution.
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  earlier(id, before) {
    const found = this.entries.find(
      (entry) => isAbout(entry, 'execution', id) && AUTHORISING.includes(entry['action']) && entry['sequence'] < before,
    );
    if (found !== undefined) this.#named.add(found);
    return found;
  }

  /**
   * A claim as it was added.
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  claim(id, before) {
    const found = this.entries.find(
      (entry) => isAbout(entry, 'claim', id) && entry['action'] === 'claim.added' && entry['sequence'] < before,
    );
    if (found !== undefined) this.#named.add(found);
    return found?.['state'];
  }

  /**
   * The entry that registered a passkey.
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  passkey(id, before) {
    const found = this.of('passkey', id).find(
      (entry) => entry['action'] === 'passkey.registered' && entry['sequence'] < before,
    );
    this.namedPasskeys.push({ id, before });
    if (found !== undefined) this.#named.add(found);
    return found;
  }

  /**
   * A stop as its last entry before a sequence left it.
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  stop(id, before) {
    this.#stops.add(id);
    const entries = this.entries.filter((entry) => isAbout(entry, 'stop', id));
    return this.stateBefore(entries, before);
  }

  /**
   * A subject as its last entry before a sequence left it.
   * @param {readonly Json[]} entries of one subject
   * @param {number} before
   * @returns {Json | undefined}
   */
  stateBefore(entries, before) {
    return entries.findLast(({ sequence }) => sequence < before)?.['state'];
  }

  /** Entries that neither are of the execution or its decision nor were asked for. */
  get strangers() {
    const ofGrant = [...this.of('grant', this.grantId), ...this.of('decision', this.grant?.['decisionId'] ?? null)];
    const known = new Set([...this.ofExecution, ...this.ofDecision, ...ofGrant, ...this.#named]);
    return this.entries.filter(
      (entry) => !known.has(entry) && !(entry['subjectType'] === 'stop' && this.#stops.has(entry['subjectId'])),
    );
  }
}

/**
 * @param {Json} entry
 * @param {string} type
 * @param {string | null} id
 */
function isAbout({ subjectType, subjectId }, type, id) {
  return subjectType === type && subjectId === id;
}
