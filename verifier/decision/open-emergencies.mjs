import { isErased } from '../entry-check.mjs';
import { isEmergency, needsTwoReviews } from './changes.mjs';

/**
 * The emergencies of a log that nobody has reviewed so far.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */
export class OpenEmergencies {
  /** The times of the emergencies without a review so far, by decision. @type {Map<string, string>} */
  #unreviewed = new Map();
  /**
   * The times of emergencies whose keys and people may not decide on changes yet, by decision.
   * @type {Map<string, string>}
   */
  #barring = new Map();
  /** Maps times to the number of those emergencies. @type {Map<string, number>} */
  #barringAt = new Map();
  /** Decisions that were erased so far, which may have been about emergencies. */
  erased = 0;

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state nothing if it was erased
   */
  add(entry, state) {
    const { action, subjectType, subjectId, timestamp } = entry;
    // Only settled decisions are erased, so an erasure settles none.
    if (subjectType !== 'decision' || action === 'decision.erased') return;
    if (state && needsTwoReviews(state) && state['status'] === 'proposed') this.#bar(subjectId, state['createdAt']);
    else this.#bar(subjectId, undefined);
    if (isErased(entry) && !state) {
      if (this.#unreviewed.delete(subjectId) || action === 'decision.proposed') this.erased += 1;
    } else if (state && isEmergency(state) && state['status'] === 'proposed') {
      if (!this.#unreviewed.has(subjectId)) this.#unreviewed.set(subjectId, timestamp);
    } else this.#unreviewed.delete(subjectId);
  }

  /**
   * @param {string} id of the decision
   * @param {string | undefined} time of the emergency; nothing if it bars nobody any more
   */
  #bar(id, time) {
    const before = this.#barring.get(id);
    if (before !== undefined) this.#barringAt.set(before, (this.#barringAt.get(before) ?? 0) - 1);
    if (before !== undefined && this.#barringAt.get(before) === 0) this.#barringAt.delete(before);
    this.#barring.delete(id);
    if (time === undefined) return;
    this.#barring.set(id, time);
    this.#barringAt.set(time, (this.#barringAt.get(time) ?? 0) + 1);
  }

  /**
   * Returns the time before which the reviewers of an emergency have to be registered: that of the first one still open.
   * @param {string} timestamp of the emergency
   * @returns {string}
   */
  firstTime(timestamp) {
    // In the order of the log, which is that of time.
    const first = this.#unreviewed.values().next().value ?? timestamp;
    return first < timestamp ? first : timestamp;
  }

  /**
   * True if a key or a person was made in an emergency that nobody has reviewed: its `createdAt` is that time.
   * @param {unknown} createdAt
   */
  isBarred(createdAt) {
    return this.#barringAt.has(/** @type {string} */ (createdAt));
  }
}
