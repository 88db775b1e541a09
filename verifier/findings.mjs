/** Maximum number of faults that are reported one by one. */
const MAX_REPORTED = 20;

/**
 * @typedef {'chain' | 'decision' | 'head' | 'checkpoint' | 'tree' | 'records' | 'file'} Layer
 * @typedef {{ layer: Layer, place: string, fault: string }} Finding
 */

/** Counts faults and stores the first faults. */
export class Findings {
  count = 0;
  /** @type {Finding[]} */
  first = [];
  /** Sentences about what was not checked, and why. @type {string[]} */
  notes = [];

  /**
   * @param {Layer} layer
   * @param {string} place
   * @param {string} fault
   */
  add(layer, place, fault) {
    this.count += 1;
    if (this.first.length < MAX_REPORTED) this.first.push({ layer, place, fault });
  }

  /** @param {string} text */
  note(text) {
    this.notes.push(text);
  }
}
