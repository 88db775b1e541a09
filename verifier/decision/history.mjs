export const AUTHORISING = ['execution.authorized', 'execution.resumed'];

/**
 * The entries of a decision file by what they are about.
 *
 * @typedef {import('./read-file.mjs').DecisionFile} DecisionFile
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 */
export class History {
  /** @type {Map<string, { policies: Policy[], defaultEffect: string, evaluation: number }>} */
  #rules = new Map();
  /** By kind and id. @type {Map<string, Json[]>} */
  #bySubject = new Map();
  /** The executions, decisions and grants that the decision rests on, by kind and id. @type {Set<string>} */
  #reached = new Set();
  /** Entries of agents, claims and passkeys that were asked for. @type {Set<Json>} */
  #named = new Set();
  /** Which stops were asked for. @type {Set<string>} */
  #stops = new Set();
  /** Which agents were asked for, at which revision, before which entry. @type {{ id: string, revision: unknown, before: number }[]} */
  namedAgents = [];
  /** Which passkeys signed for which reviewer, before which entry. @type {{ id: string, reviewerId: string, before: number }[]} */
  namedPasskeys = [];

  /**
   * @param {DecisionFile} file
   * @param {ReadonlySet<string>} made the signatures that the keys of their passkeys made
   */
  constructor({ executionId, entries, rules, policies }, made) {
    this.entries = entries;
    this.made = made;
    this.executionId = executionId;
    for (const entry of entries) {
      const name = nameOf(entry['subjectType'], entry['subjectId']);
      const about = this.#bySubject.get(name);
      if (about === undefined) this.#bySubject.set(name, [entry]);
      else about.push(entry);
    }
    this.ofExecution = this.entriesAbout('execution', executionId);
    /** Of the decision that it waited for, or whose rejection kept it from being asked again. @type {string | null} */
    this.decisionId = this.ofExecution.at(-1)?.['state']?.decisionId ?? null;
    this.#reach('execution', executionId);
    const byId = new Map(policies.map((policy) => [policy.id, policy]));
    for (const { hash, defaultEffect, evaluation, policies: ids } of rules) {
      // Sorted as the service sorts them: the identifiers of older policies come first.
      const inForce = [...ids].sort().flatMap((id) => byId.get(id) ?? []);
      this.#rules.set(hash, { defaultEffect, evaluation, policies: inForce });
    }
  }

  /**
   * Follows references from a record: everything that it reaches has to be recomputed.
   * @param {string} type
   * @param {string} id
   */
  #reach(type, id) {
    const found = [[type, id]];
    for (const [kind = '', subject = ''] of found) {
      const name = nameOf(kind, subject);
      if (this.#reached.has(name)) continue;
      this.#reached.add(name);
      for (const { state, audit } of this.entriesAbout(kind, subject))
        found.push(...referencesIn(kind, state, audit.details));
    }
  }

  /**
   * The entries about a subject.
   * @param {string} type
   * @param {string | null} id
   */
  entriesAbout(type, id) {
    return this.#bySubject.get(nameOf(type, id)) ?? [];
  }

  /**
   * Whether the decision rests on the record of an entry, which is then recomputed like the execution itself.
   * @param {Json} entry
   */
  isReached({ subjectType, subjectId }) {
    return this.#reached.has(nameOf(subjectType, subjectId));
  }

  /**
   * Whether an entry is of the execution or of its decision.
   * @param {Json} entry
   */
  isOwn({ subjectType, subjectId }) {
    return (
      (subjectType === 'execution' && subjectId === this.executionId) ||
      (subjectType === 'decision' &&
        subjectId === this.decisionId &&
        this.ofExecution[0]?.['action'] !== 'execution.denied')
    );
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
    const found = this.entriesAbout('agent', id).findLast(
      (entry) => entry['sequence'] < before && entry['state']?.revision === revision,
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
    return this.entriesAbout('execution', id).find(
      (entry) => AUTHORISING.includes(entry['action']) && entry['sequence'] < before,
    );
  }

  /**
   * A claim as it was added.
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  claim(id, before) {
    const found = this.entriesAbout('claim', id).find(
      (entry) => entry['action'] === 'claim.added' && entry['sequence'] < before,
    );
    if (found !== undefined) this.#named.add(found);
    return found?.['state'];
  }

  /**
   * The entry that registered a passkey.
   * @param {string} id
   * @param {number} before
   * @param {string} reviewerId who signed with it
   * @returns {Json | undefined}
   */
  passkey(id, before, reviewerId) {
    const found = this.entriesAbout('passkey', id).find(
      (entry) => entry['action'] === 'passkey.registered' && entry['sequence'] < before,
    );
    this.namedPasskeys.push({ id, reviewerId, before });
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
    return this.stateBefore(this.entriesAbout('stop', id), before);
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

  /** Entries on which nothing rests. */
  get strangers() {
    return this.entries.filter(
      (entry) =>
        !this.isReached(entry) &&
        !this.#named.has(entry) &&
        !(entry['subjectType'] === 'stop' && this.#stops.has(entry['subjectId'])),
    );
  }
}

/**
 * The executions, decisions and grants that a record, or the details of an entry about it, names.
 * @param {string} kind
 * @param {Json} state
 * @param {Json} details
 * @returns {string[][]} each a kind and an id
 */
function referencesIn(kind, { decisionId, executionId, grantId, instead }, { earlier = [], repeats }) {
  const named = {
    execution: [
      ['decision', decisionId],
      ['grant', grantId],
      ['grant', instead?.grantId],
      ['execution', repeats],
      ...(Array.isArray(earlier) ? earlier : []).map((one) => ['execution', one.executionId]),
    ],
    decision: [['execution', executionId]],
    grant: [['decision', decisionId]],
  };
  return (named[/** @type {'grant'} */ (kind)] ?? []).filter(([, id]) => typeof id === 'string');
}

/**
 * @param {string} type
 * @param {string | null} id
 */
function nameOf(type, id) {
  return `${type} ${id}`;
}
