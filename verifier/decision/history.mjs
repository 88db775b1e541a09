import { isMaking } from './changes.mjs';

export const AUTHORISING = ['execution.authorized', 'execution.resumed'];
/** Actions with which an execution begins. */
export const BEGINNINGS = ['execution.authorized', 'execution.denied', 'execution.approval_requested'];
/** Outcomes after which an execution changes no more, except by an erasure. */
export const ENDED = ['denied', 'rejected', 'expired', 'cancelled', 'executed', 'failed', 'interrupted'];

/**
 * The entries of a decision file, by their subjects.
 *
 * @typedef {import('./read-file.mjs').DecisionFile} DecisionFile
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 * @typedef {'entries' | 'madeEntries' | 'makingEntry' | 'guesses' | 'approvedBody' | 'validSignatures' | 'entriesAbout' | 'isMade'} Contents
 * @typedef {ReadonlyMap<string, boolean>} Guesses
 * @typedef {'rules' | 'policies' | 'forgottenMembers' | 'clockShift' | 'agent' | 'agentBefore' | 'earlier' | 'claim' | 'passkey' | 'stop' | 'stateBefore'} LookUps
 * @typedef {Pick<FileHistory, Contents | LookUps> & { isLost(kind: string, id: string, audit?: object): boolean }} History what a recomputation reads: of a file, or of a log
 */
export class FileHistory {
  /** @type {Map<string, { policies: Policy[], defaultEffect: string, evaluation: number }>} */
  #rules = new Map();
  /** Maps kinds and ids to entries. @type {Map<string, Json[]>} */
  #bySubject = new Map();
  /**
   * The executions, decisions, grants and delegations that the decision rests on, by kind and id.
   * @type {Set<string>}
   */
  #reachedSubjects = new Set();
  /** The entries of agents, claims and passkeys that have been looked up. @type {Set<Json>} */
  #requestedEntries = new Set();
  /** The entries that the change has made. @type {ReadonlySet<Json>} */
  #made;
  /** The ids of stops that have been looked up. @type {Set<string>} */
  #stops = new Set();
  /** Members that earlier states lack here. @type {readonly string[]} */
  forgottenMembers = [];
  /** A file names policies by the rules that they are part of. @type {readonly Policy[]} */
  policies = [];
  /** Milliseconds by which clocks are read at another time than that of the entry. */
  clockShift = 0;
  /** Truths that are assumed of conditions, by policy and index: a file has what tells them. @type {Guesses} */
  guesses = new Map();
  /** The body of the change, where it follows from the entries. @type {Json | undefined} */
  approvedBody;
  /**
   * @param {DecisionFile} file
   * @param {ReadonlySet<string>} validSignatures the signatures that the keys of their passkeys made
   */
  constructor({ entries, rules, policies, ...subject }, validSignatures) {
    const { executionId = null, decisionId = null } = /** @type {Readonly<Record<string, string>>} */ (subject);
    this.entries = entries;
    this.validSignatures = validSignatures;
    /** The execution that the file is about; null for a change. */
    this.executionId = executionId;
    /** The decision on the change that the file is about; null for an execution. */
    this.changeId = decisionId;
    for (const entry of entries) {
      const name = subjectKey(entry['subjectType'], entry['subjectId']);
      const subjectEntries = this.#bySubject.get(name);
      if (subjectEntries === undefined) this.#bySubject.set(name, [entry]);
      else subjectEntries.push(entry);
    }
    /** The entries about the execution or, in the file of a change, about its decision. */
    this.ofSubject =
      decisionId === null ? this.entriesAbout('execution', executionId) : this.entriesAbout('decision', decisionId);
    /**
     * The id of the decision that it waited for, whose rejection blocked the request, or that is about the change.
     * @type {string | null}
     */
    this.decisionId = decisionId ?? this.ofSubject.at(-1)?.['state']?.decisionId ?? null;
    /** The entry that names those which the change has made. @type {Json | undefined} */
    this.makingEntry = decisionId === null ? undefined : this.ofSubject.find(isMaking);
    const { firstSequence, lastSequence } = this.makingEntry?.['audit'].details ?? {};
    /** The entries that the change has made. */
    this.madeEntries = entries.filter(
      ({ sequence, subjectId }) => sequence >= firstSequence && sequence <= lastSequence && subjectId !== decisionId,
    );
    this.#made = new Set(this.madeEntries);
    if (decisionId === null) this.#reach('execution', String(executionId));
    else this.#reach('decision', decisionId);
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
    const subjects = [[type, id]];
    for (const [kind = '', subject = ''] of subjects) {
      const name = subjectKey(kind, subject);
      if (this.#reachedSubjects.has(name)) continue;
      this.#reachedSubjects.add(name);
      for (const { state, audit } of this.entriesAbout(kind, subject))
        subjects.push(...referencesIn(kind, state ?? {}, audit.details ?? {}));
    }
  }

  /**
   * Returns the entries about a subject.
   * @param {string} type
   * @param {string | null} id
   */
  entriesAbout(type, id) {
    return this.#bySubject.get(subjectKey(type, id)) ?? [];
  }

  /**
   * True if the decision rests on the record of an entry, which is then recomputed like the execution itself.
   * @param {Json} entry
   */
  isReached({ subjectType, subjectId }) {
    return this.#reachedSubjects.has(subjectKey(subjectType, subjectId));
  }

  /**
   * True if the change that the file is about has made an entry.
   * @param {Json} entry
   */
  isMade(entry) {
    return this.#made.has(entry);
  }

  /**
   * True if an entry is about the execution or its decision.
   * @param {Json} entry
   */
  isOwn({ subjectType, subjectId }) {
    return (
      (subjectType === 'execution' && subjectId === this.executionId) ||
      (subjectType === 'decision' &&
        subjectId === this.decisionId &&
        this.ofSubject[0]?.['action'] !== 'execution.denied')
    );
  }

  /** A file has all contents on which it rests. */
  isLost() {
    return false;
  }

  /** @param {string} hash */
  rules(hash) {
    return this.#rules.get(hash);
  }

  /**
   * Returns the state of an agent by the last entry about it before a sequence.
   * @param {string} id
   * @param {unknown} revision that this entry has to have
   * @param {number} before
   * @returns {Json | undefined}
   */
  agent(id, revision, before) {
    const agentEntry = this.entriesAbout('agent', id).findLast(
      (entry) => entry['sequence'] < before && entry['state']?.revision === revision,
    );
    if (agentEntry !== undefined) this.#requestedEntries.add(agentEntry);
    return agentEntry?.['state'];
  }

  /**
   * Returns the state of an agent by the last entry about it before a sequence, whichever revision that has.
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  agentBefore(id, before) {
    const state = this.stateBefore(this.entriesAbout('agent', id), before);
    return state === undefined ? undefined : this.agent(id, state['revision'], before);
  }

  /**
   * Returns the first entry that authorised an execution.
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
   * Returns the state of a claim when it was added.
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  claim(id, before) {
    const claimEntry = this.entriesAbout('claim', id).find(
      (entry) => entry['action'] === 'claim.added' && entry['sequence'] < before,
    );
    if (claimEntry !== undefined) this.#requestedEntries.add(claimEntry);
    return claimEntry?.['state'];
  }

  /**
   * Returns the entry that registered a passkey.
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  passkey(id, before) {
    const passkeyEntry = this.entriesAbout('passkey', id).find(
      (entry) => entry['action'] === 'passkey.registered' && entry['sequence'] < before,
    );
    if (passkeyEntry !== undefined) this.#requestedEntries.add(passkeyEntry);
    return passkeyEntry;
  }

  /**
   * Returns the state of a stop by its last entry before a sequence.
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  stop(id, before) {
    this.#stops.add(id);
    return this.stateBefore(this.entriesAbout('stop', id), before);
  }

  /**
   * Returns the state of a subject by its last entry before a sequence.
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
        !this.isMade(entry) &&
        !this.#requestedEntries.has(entry) &&
        !(entry['subjectType'] === 'stop' && this.#stops.has(entry['subjectId'])),
    );
  }
}

/**
 * Finds the executions, decisions, grants and delegations that a record, or the details of an entry about it, names.
 * @param {string} kind
 * @param {Json} state
 * @param {Json} details
 * @returns {string[][]} each a kind and an id
 */
export function referencesIn(
  kind,
  { decisionId, executionId, grantId, instead, reviews = [] },
  { earlier = [], repeats },
) {
  const references = {
    execution: [
      ['decision', decisionId],
      ['grant', grantId],
      ['grant', instead?.grantId],
      ['execution', repeats],
      ...(Array.isArray(earlier) ? earlier : []).map((execution) => ['execution', execution?.executionId]),
    ],
    decision: [
      ['execution', executionId],
      ...(Array.isArray(reviews) ? reviews : []).map((review) => ['delegation', review?.delegationId]),
    ],
    grant: [['decision', decisionId]],
  };
  return (references[/** @type {'grant'} */ (kind)] ?? []).filter(([, id]) => typeof id === 'string');
}

/**
 * @param {string} type
 * @param {string | null} id
 */
export function subjectKey(type, id) {
  return `${type} ${id}`;
}
