import { isEmergency, needsTwoReviews } from './decision/changes.mjs';
import { isObject } from './entry-check.mjs';
import { RECORD_ACTIONS } from './record-actions.mjs';

/**
 * @typedef {import('./entry-check.mjs').JsonObject} JsonObject
 * @typedef {{ maker: unknown, first: number, timestamp: unknown }} Run entries that one change or emergency has made
 */

/** The emergencies that nobody has reviewed, at most. */
const MAX_OPEN = 3;
const EMERGENCY = 'an emergency';
/** The actions of the entries that follow what a change or an emergency has made. */
const ENDING = ['decision.change_made', 'decision.proposed'];

/**
 * Checks that entries which say that a change or an emergency has made them are followed, in their commit, by the entry
 * of its decision, which names them; and that no more emergencies are open than there can be. What was erased is not
 * compared.
 */
export class Makings {
  /**
   * The entries since the first one that says what made it.
   * @type {Run | null}
   */
  #run = null;
  /** The decisions on open emergencies. @type {Set<unknown>} */
  #open = new Set();
  /** The decisions on changes that were made. @type {Set<unknown>} */
  #made = new Set();
  /** @type {Set<unknown>} */
  #people = new Set();
  /** True once two people had to review an emergency: before that rule one was enough for every emergency. */
  #needsTwo = false;

  /**
   * @param {JsonObject} entry the next one of the chain
   * @returns {string[]} its faults
   */
  add(entry) {
    return [...this.#runFaults(entry), ...this.#openFaults(entry), ...this.#repeatFaults(entry)];
  }

  /** @param {JsonObject} entry */
  #repeatFaults({ action, subjectId }) {
    if (action !== 'decision.change_made') return [];
    const isRepeated = this.#made.has(subjectId);
    this.#made.add(subjectId);
    return isRepeated ? [`${String(action)} of ${String(subjectId)}, which was made before`] : [];
  }

  /** @param {JsonObject} entry */
  #runFaults({ action, subjectId, sequence, timestamp, audit }) {
    const details = isObject(audit) ? audit['details'] : null;
    const run = this.#run;
    if (!isObject(details)) {
      // Nobody knows what made this one, only that a commit has one time, and ends with its decision.
      const isOfCommit = run?.timestamp === timestamp;
      if (!isOfCommit || ENDING.includes(String(action))) this.#run = null;
      return run === null || isOfCommit ? [] : [faultOf(run)];
    }
    const isGlass = details['breakGlass'] === true;
    const isEnd = action === 'decision.change_made' || (isGlass && action === 'decision.proposed');
    const maker = isGlass ? EMERGENCY : isEnd ? subjectId : details['changeId'];
    const isOfRun = run !== null && run.timestamp === timestamp && (run.maker === maker || says(details, run.maker));
    if (isEnd) this.#run = null;
    else if (!isOfRun) this.#run = beginsRun(action, details) ? { maker, first: Number(sequence), timestamp } : null;
    if (run === null) return [];
    if (!isOfRun) return [faultOf(run)];
    return isEnd && Number(details['firstSequence']) > run.first
      ? [`${String(action)} leaves out entry ${run.first}, which it has made`]
      : [];
  }

  /** @param {JsonObject} entry */
  #openFaults({ action, subjectType, subjectId, state }) {
    if (subjectType === 'agent' && isObject(state) && state['kind'] === 'human') this.#people.add(subjectId);
    if (subjectType !== 'decision') return [];
    if (!isObject(state) || !isEmergency(state) || state['status'] !== 'proposed') {
      this.#open.delete(subjectId);
      return [];
    }
    this.#open.add(subjectId);
    this.#needsTwo ||= needsTwoReviews(state);
    if (action !== 'decision.proposed' || !this.#needsTwo) return [];
    const id = String(subjectId);
    const isTooEasy = !needsTwoReviews(state) && !this.#people.has(state['proposedBy']);
    return [
      ...(this.#open.size > MAX_OPEN
        ? [`${id} is an emergency, and ${MAX_OPEN} were open, which nobody had reviewed`]
        : []),
      ...(isTooEasy ? [`${id} is an emergency that no person made, and one review of it is enough`] : []),
    ];
  }
}

/** @param {Run} run that its decision does not end */
function faultOf({ first, maker }) {
  return `entry ${first} was made by ${String(maker)}, and no entry of a decision says so`;
}

/**
 * True if an entry says that this has made it, whatever else a module says in it.
 * @param {JsonObject} details
 * @param {unknown} maker
 */
function says({ breakGlass, changeId }, maker) {
  return maker === EMERGENCY ? breakGlass === true : changeId === maker;
}

/**
 * True for an entry that says what made it. What modules write of a change or a glass may mean anything, so it is only
 * compared after an entry of the service. A description that alone changed needs no second person, and earlier versions
 * recorded an emergency all the same if the request named one.
 * @param {unknown} action
 * @param {JsonObject} details
 */
function beginsRun(action, { breakGlass, changeId, fields }) {
  const isMade = breakGlass === true || changeId !== undefined;
  const isDescription = Array.isArray(fields) && fields.length === 1 && fields[0] === 'description';
  return isMade && Object.hasOwn(RECORD_ACTIONS, String(action)) && !(action === 'agent.updated' && isDescription);
}
