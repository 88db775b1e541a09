import { canonicalJson } from '../canonical-json.mjs';

/**
 * What a recomputation says, step by step, and where it differs from what is recorded.
 *
 * @typedef {{ sequence: number, timestamp: string, action: string, sentences: string[] }} Step
 * @typedef {{ sequence: number, difference: string }} Difference
 */
export class Report {
  /** @type {Step[]} */
  steps = [];
  /** @type {Difference[]} */
  differences = [];
  /** What to keep in mind about them. @type {string[]} */
  notes = [];

  /** @param {import('./read-file.mjs').Json} entry which the following is about */
  begin({ sequence, timestamp, action }) {
    this.steps.push({ sequence, timestamp, action, sentences: [] });
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
   * @param {string} what
   * @param {unknown} recorded
   * @param {unknown} computed
   * @returns {boolean} whether they are equal
   */
  expect(what, recorded, computed) {
    const isEqual = canonicalJson(recorded ?? null) === canonicalJson(computed ?? null);
    if (!isEqual) this.differ(`${what} is recorded as ${short(recorded)}, and computed as ${short(computed)}`);
    return isEqual;
  }
}

const LONGEST = 300;

/** @param {unknown} value */
export function short(value) {
  const text = canonicalJson(value ?? null);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
