import { canonicalJson } from '../canonical-json.mjs';
import { isErased, isObject } from '../entry-check.mjs';
import { isEmergency, isMaking } from './changes.mjs';
import { claimsIn, MAX_VALUE_BYTES } from './facts.mjs';
import { AUTHORISING, ENDED, referencesIn, subjectKey } from './history.mjs';
import { LogRules } from './log-rules.mjs';
import { RecentItems } from './recent-items.mjs';
import { findValidSignatures } from './signatures.mjs';

/**
 * What a log has so far of the records on which its next entries may rest. Of records that have ended it keeps no more
 * than others can rest on, as a log may have millions.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {{ making?: Json, entries: Json[] }} Made what a change has made, and the entry of its decision that says so
 */

/** Milliseconds by which conditions look back outside of a run. */
const LOOKED_BACK_MS = 7 * 86_400_000;
/** Kinds of records on which others rest, of which the last entry says everything. */
const LAST_SAYS_ALL = ['agent', 'decision', 'grant', 'stop'];
/** Long members on which nothing rests later: others check that they stay as they were. */
const FORGOTTEN = ['parameters', 'result', 'title', 'description'];
/** Actions after which the rules that a change names are not needed. */
const END_OF_CHANGE = ['decision.change_made', 'decision.rejected', 'decision.expired', 'decision.cancelled'];

export class LogHistory {
  ruleSets = new LogRules();
  /** Signatures that the keys of their passkeys made. @type {Set<string>} */
  validSignatures = new Set();
  /** Members that earlier states lack here. @type {readonly string[]} */
  forgottenMembers = FORGOTTEN;
  /** Milliseconds by which clocks are read at another time than that of the entry. */
  clockShift = 0;
  /** The entries of the time that is recomputed. @type {Json[]} */
  entries = [];
  /**
   * Maps sequences to the entries of this time, once one is looked up. Refusals of callers are not among them, so an
   * entry need not be where its sequence alone would place it.
   * @type {Map<unknown, Json> | undefined}
   */
  #bySequence;
  /** The body of the change that was made last, where it follows from the entries. @type {Json | undefined} */
  approvedBody;
  /** The entries that the change of the recomputed entry has made. @type {Made | undefined} */
  #made;
  /** Maps entries of this time to the change that made each. @type {Map<Json, Made>} */
  #making = new Map();
  /** Maps decisions on emergencies to what each has made, without the contents. @type {Map<string, Json[]>} */
  #ofEmergencies = new Map();
  /**
   * Maps kinds and ids to the entries that are kept: as text those of executions that wait for nobody, since a log may
   * have millions.
   * @type {Map<string, Json[] | string>}
   */
  #bySubject = new Map();
  /**
   * Records that have lost contents, or are of the first form, which says too little: under what each is filed.
   * @type {Map<string, Json>}
   */
  #lost = new Map();
  /** Truths that are assumed of conditions, by policy and index. @type {import('./history.mjs').Guesses} */
  guesses = new Map();
  /** Executions outside of runs that were authorised, in order. @type {RecentItems<string>} */
  #authorised = new RecentItems();

  /**
   * Adds all entries of one time. An entry may rest on later ones of its commit, which has one time.
   * @param {Json[]} entries
   */
  async begin(entries) {
    this.entries = entries;
    this.#bySequence = undefined;
    for (const entry of entries) {
      const key = subjectKey(entry['subjectType'], entry['subjectId']);
      if (isErased(entry) || entry['v'] === 1) {
        const { agentId, entityId } = entry['audit'];
        this.#lost.set(key, { agentId, entityId });
      }
      const all = this.#entriesOf(key);
      all.push(entry);
      this.#bySubject.set(key, all);
    }
    this.#noteMakings();
    await this.#verifySignatures();
  }

  /** Forgets what nothing can rest on any more. */
  end() {
    for (const key of new Set(this.entries.map(({ subjectType, subjectId }) => subjectKey(subjectType, subjectId)))) {
      const needed = neededOf(this.#entriesOf(key));
      if (needed.length === 0) this.#bySubject.delete(key);
      else this.#bySubject.set(key, isSettled(needed) ? JSON.stringify(needed) : needed);
    }
    this.#forgetOld();
    this.#making.clear();
    this.#made = undefined;
    this.entries = [];
    this.#bySequence = undefined;
  }

  /**
   * Returns the entry of a sequence, if it is one of the time that is recomputed.
   * @param {number} sequence
   * @returns {Json | undefined}
   */
  entryOfThisTime(sequence) {
    this.#bySequence ??= new Map(this.entries.map((entry) => [entry['sequence'], entry]));
    return this.#bySequence.get(sequence);
  }

  /** @param {Json} entry which is recomputed next */
  turnTo(entry) {
    const { subjectType, subjectId } = entry;
    this.#made = this.#making.get(entry);
    this.approvedBody = undefined;
    const [first] = this.entriesAbout(subjectType, subjectId);
    this.forgottenMembers = first?.['isOld'] === true ? Object.keys(entry['state'] ?? {}) : FORGOTTEN;
    const decision = entry['state'];
    if (this.#made === undefined && subjectType === 'decision' && decision !== null && isEmergency(decision))
      this.#made = { entries: this.#ofEmergencies.get(subjectId) ?? [] };
  }

  /** @param {Json} entry that was recomputed */
  note({ action, subjectType, subjectId, state }) {
    if (subjectType === 'policy' && state !== null) this.ruleSets.note(subjectId, state);
    if (subjectType !== 'decision') return;
    if (END_OF_CHANGE.includes(action)) this.ruleSets.release(subjectId);
    if (state?.status !== 'proposed') this.#ofEmergencies.delete(subjectId);
  }

  /** The policies in force. */
  get policies() {
    return this.ruleSets.policies;
  }

  /** The entries that the change of this entry has made. */
  get madeEntries() {
    return this.#made?.entries ?? [];
  }

  /** The entry of the decision that names what the change of this entry has made. */
  get makingEntry() {
    return this.#made?.making;
  }

  /**
   * True if a change has made the entry that is recomputed.
   * @param {Json} entry
   */
  isMade(entry) {
    return this.#made?.entries.includes(entry) === true;
  }

  /**
   * True if the log does not have everything about a record that is filed like this, or about what that rests on.
   * @param {string} kind
   * @param {string} id
   * @param {Json} [filed]
   * @returns {boolean}
   */
  isLost(kind, id, filed = {}) {
    const audit = this.#lost.get(subjectKey(kind, id));
    if (audit !== undefined) return Object.entries(filed).every(([name, value]) => audit[name] === value);
    const state = this.entriesAbout(kind, id).at(-1)?.['state'];
    return kind === 'grant' && typeof state?.decisionId === 'string' && this.isLost('decision', state.decisionId);
  }

  /**
   * True if the log does not have everything on which an entry rests: contents were erased, or are of the first form.
   * @param {Json} entry
   */
  restsOnLost({ subjectType, subjectId, state, audit }) {
    const key = subjectKey(subjectType, subjectId);
    if (this.#lost.has(key)) return true;
    const claims = claimsIn(audit.details ?? {}).flatMap(({ ids }) => ids ?? []);
    if (claims.some((id) => this.#lost.has(subjectKey('claim', id)))) return true;
    const subjects = referencesIn(subjectType, state ?? {}, audit.details ?? {});
    const seen = new Set([key]);
    for (const [kind = '', id = ''] of subjects) {
      const name = subjectKey(kind, id);
      if (this.#lost.has(name)) return true;
      // What a grant rests on decides its use; a decision rests on its execution, and that on nothing else here.
      if (seen.has(name) || kind === 'execution') continue;
      seen.add(name);
      const last = this.#entriesOf(name).at(-1);
      subjects.push(...referencesIn(kind, last?.['state'] ?? {}, {}));
    }
    return false;
  }

  /**
   * @param {string} type
   * @param {string | null} id
   */
  entriesAbout(type, id) {
    return this.#entriesOf(subjectKey(type, id));
  }

  /** @param {string} hash */
  rules(hash) {
    return this.ruleSets.get(hash);
  }

  /**
   * Returns the state of an agent before a sequence, if it has the revision.
   * @param {string} id
   * @param {unknown} revision
   * @param {number} before
   * @returns {Json | undefined}
   */
  agent(id, revision, before) {
    const state = this.agentBefore(id, before);
    return state?.['revision'] === revision ? state : undefined;
  }

  /**
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  agentBefore(id, before) {
    return this.stateBefore(this.entriesAbout('agent', id), before);
  }

  /**
   * Returns the first entry that authorised an execution.
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  earlier(id, before) {
    return this.entriesAbout('execution', id).find(
      ({ action, sequence }) => AUTHORISING.includes(action) && sequence < before,
    );
  }

  /**
   * Returns the state of a claim when it was added, unless it was removed.
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  claim(id, before) {
    return this.stateBefore(this.entriesAbout('claim', id), before) ?? undefined;
  }

  /**
   * Returns the entry that registered a passkey, unless it was removed.
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  passkey(id, before) {
    const last = this.entriesAbout('passkey', id).findLast(({ sequence }) => sequence < before);
    return last?.['action'] === 'passkey.registered' ? last : undefined;
  }

  /**
   * @param {string} id
   * @param {number} before
   * @returns {Json | undefined}
   */
  stop(id, before) {
    return this.stateBefore(this.entriesAbout('stop', id), before);
  }

  /**
   * @param {readonly Json[]} entries of one subject
   * @param {number} before
   * @returns {Json | undefined}
   */
  stateBefore(entries, before) {
    return entries.findLast(({ sequence }) => sequence < before)?.['state'];
  }

  /** Finds what each change of this time has made. */
  #noteMakings() {
    for (const making of this.entries) {
      if (isErased(making) || making['subjectType'] !== 'decision' || !isMaking(making)) continue;
      const { firstSequence, lastSequence } = making['audit'].details;
      const entries = this.entries.filter(
        ({ sequence, subjectId }) =>
          sequence >= firstSequence && sequence <= lastSequence && subjectId !== making['subjectId'],
      );
      const made = { making, entries };
      for (const entry of [...entries, making]) this.#making.set(entry, made);
      if (isEmergency(making['state']))
        this.#ofEmergencies.set(
          making['subjectId'],
          entries.map(({ action, subjectId }) => ({ action, subjectId })),
        );
    }
  }

  async #verifySignatures() {
    const reviews = this.entries.flatMap(({ subjectType, state }) =>
      subjectType === 'decision' && Array.isArray(state?.reviews) ? state.reviews.filter(isObject) : [],
    );
    const passkeyIds = new Set(reviews.flatMap(({ signature }) => signature?.passkeyId ?? []));
    if (passkeyIds.size === 0) return;
    const registrations = [...passkeyIds].flatMap((id) => this.entriesAbout('passkey', id));
    for (const text of await findValidSignatures([...registrations, ...this.entries])) this.validSignatures.add(text);
  }

  /** Keeps little of an execution outside of a run that was authorised a week ago: only its result can come. */
  #forgetOld() {
    const now = Date.parse(this.entries.at(-1)?.['timestamp']);
    for (const { action, subjectType, subjectId, state } of this.entries)
      if (AUTHORISING.includes(action) && state !== null && state.run === undefined)
        this.#authorised.add(subjectKey(subjectType, subjectId), now);
    for (const key of this.#authorised.takeBefore(now - LOOKED_BACK_MS)) {
      const last = this.#entriesOf(key).at(-1);
      if (last?.['state']?.outcome !== 'authorized') this.#bySubject.delete(key);
      else this.#bySubject.set(key, JSON.stringify([{ ...last, isOld: true, state: { outcome: 'authorized' } }]));
    }
  }

  /** @param {string} key */
  #entriesOf(key) {
    const entries = this.#bySubject.get(key) ?? [];
    return typeof entries === 'string' ? /** @type {Json[]} */ (JSON.parse(entries)) : entries;
  }
}

/**
 * True if nobody has to decide about an execution any more.
 * @param {Json[]} entries
 */
function isSettled(entries) {
  const { subjectType, state } = entries.at(-1) ?? {};
  return subjectType === 'execution' && (state?.outcome === 'authorized' || ENDED.includes(state?.outcome));
}

/**
 * Returns what is needed later of the entries about one record.
 * @param {Json[]} entries
 * @returns {Json[]}
 */
function neededOf(entries) {
  const [first] = entries;
  const last = entries.at(-1);
  if (first === undefined || last === undefined) return [];
  const { subjectType } = first;
  if (LAST_SAYS_ALL.includes(subjectType)) return [lean(last)];
  if (subjectType === 'passkey' || subjectType === 'claim') return last['state'] === null ? [] : [lean(last)];
  if (subjectType === 'delegation') return first === last ? [first] : [first, last];
  if (subjectType !== 'execution' || last['state']?.outcome === 'denied') return [];
  const authorising = entries.find(({ action }) => AUTHORISING.includes(action));
  return [...new Set([first, authorising, last])].flatMap((entry) => (entry === undefined ? [] : lean(entry)));
}

/**
 * Leaves out the long members on which nothing rests later.
 * @param {Json} entry
 * @returns {Json}
 */
function lean({ sequence, timestamp, action, subjectType, subjectId, audit, state }) {
  const { actor, entityId, details } = audit;
  return {
    sequence,
    timestamp,
    action,
    subjectType,
    subjectId,
    audit: { actor, entityId, action, details: subjectType === 'decision' ? details : null },
    state: state === null ? null : leanState(subjectType, state),
  };
}

/**
 * @param {string} kind
 * @param {Json} state
 * @returns {Json}
 */
function leanState(kind, state) {
  if (kind === 'execution' || (kind === 'decision' && state['status'] !== 'proposed'))
    return Object.fromEntries(Object.entries(state).filter(([name]) => !FORGOTTEN.includes(name)));
  if (kind !== 'claim') return state;
  const { id, entityId, predicate, value, context } = state;
  const isLong = value !== undefined && canonicalJson(value).length > MAX_VALUE_BYTES;
  return { id, entityId, predicate, value: isLong ? null : value, context: { confidence: context?.confidence } };
}
