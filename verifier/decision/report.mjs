import { canonicalJson } from '../canonical-json.mjs';

/**
 * The steps of a recomputation in words, and its differences from the record.
 *
 * @typedef {{ sequence: number, timestamp: string, action: string, sentences: string[] }} Step
 * @typedef {{ sequence: number, difference: string }} Difference
 */
export class Report {
  /** @type {Step[]} */
  steps = [];
  /** @type {Difference[]} */
  differences = [];
  /** The grounds of the decision that the file lacks. @type {Difference[]} */
  gaps = [];
  /** Limits of the result that a reader has to know. @type {string[]} */
  notes = [];
  /** True if the body of a change that was approved does not follow from the entries that it has made. */
  hasUnknownBody = false;
  /** True if the last step is about the execution itself or its decision. */
  #isOwn = true;
  /** The ids of subjects whose entries were begun. */
  #begun = new Set();

  /**
   * @param {import('./read-file.mjs').Json} entry which the following is about
   * @param {boolean} isOwn whether it is about the execution itself or its decision
   */
  begin({ sequence, timestamp, action, subjectId }, isOwn) {
    this.#isOwn = isOwn;
    this.steps.push({ sequence, timestamp, action, sentences: [] });
    if (!isOwn && !this.#begun.has(subjectId)) this.say(`The decision rests on ${subjectId}, too.`);
    this.#begun.add(subjectId);
  }

  /** @param {string} sentence */
  say(sentence) {
    this.steps.at(-1)?.sentences.push(sentence);
  }

  /** @param {string} text */
  note(text) {
    this.notes.push(text);
  }

  /**
   * @param {string} difference
   * @param {number} [sequence] where it is not of the entry that was begun
   */
  differ(difference, sequence = this.steps.at(-1)?.sequence ?? 0) {
    this.differences.push({ sequence, difference });
  }

  /**
   * Adds a gap: something that the recomputation needs is not in the file. Files always had it about the execution
   * itself, but in files of earlier versions it may be missing about the records that the execution rests on.
   * @param {string} gap
   */
  lack(gap) {
    if (this.#isOwn) this.differ(gap);
    else this.leaveOpen(gap);
  }

  /** @param {string} gap that files of earlier versions have */
  leaveOpen(gap) {
    this.gaps.push({ sequence: this.steps.at(-1)?.sequence ?? 0, difference: gap });
  }

  /**
   * @param {string} label
   * @param {unknown} recorded
   * @param {unknown} computed
   * @param {number} [sequence] as for `differ`
   * @returns {boolean} whether they are equal
   */
  expect(label, recorded, computed, sequence) {
    const isEqual =
      Object.is(recorded, computed) || canonicalJson(recorded ?? null) === canonicalJson(computed ?? null);
    if (!isEqual)
      this.differ(`${label} is recorded as ${short(recorded)}, and computed as ${short(computed)}`, sequence);
    return isEqual;
  }
}

const MAX_TEXT_LENGTH = 300;

/** @param {unknown} value */
export function short(value) {
  const text = canonicalJson(value ?? null);
  return text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
}
