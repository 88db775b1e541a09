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
    if (state && needsTwoReviews(state) && state['status'] === 'proposed')
      this.#barring.set(subjectId, state['createdAt']);
    else this.#barring.delete(subjectId);
    if (isErased(entry) && !state) {
      if (this.#unreviewed.delete(subjectId) || action === 'decision.proposed') this.erased += 1;
    } else if (state && isEmergency(state) && state['status'] === 'proposed') {
      if (!this.#unreviewed.has(subjectId)) this.#unreviewed.set(subjectId, timestamp);
    } else this.#unreviewed.delete(subjectId);
  }

  /**
   * Returns the time before which the reviewers of an emergency have to be registered: that of the first one still open.
   * @param {string} timestamp of the emergency
   * @returns {string}
   */
  firstTime(timestamp) {
    return [...this.#unreviewed.values()].reduce((first, time) => (time < first ? time : first), timestamp);
  }

  /**
   * True if a key or a person was made in an emergency that nobody has reviewed: its `createdAt` is that time.
   * @param {unknown} createdAt
   */
  isBarred(createdAt) {
    return [...this.#barring.values()].includes(/** @type {string} */ (createdAt));
  }
}
