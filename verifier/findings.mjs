/** How many faults are reported one by one. */
const REPORTED = 20;

/**
 * @typedef {'chain' | 'head' | 'checkpoint' | 'tree' | 'records' | 'file'} Layer
 * @typedef {{ layer: Layer, place: string, fault: string }} Finding
 */

/** Counts the faults and keeps the first ones. */
export class Findings {
  count = 0;
  /** @type {Finding[]} */
  first = [];
  /** What was not checked, and why. @type {string[]} */
  notes = [];

  /**
   * @param {Layer} layer
   * @param {string} place
   * @param {string} fault
   */
  add(layer, place, fault) {
    this.count += 1;
    if (this.first.length < REPORTED) this.first.push({ layer, place, fault });
  }

  /** @param {string} text */
  note(text) {
    this.notes.push(text);
  }
}
