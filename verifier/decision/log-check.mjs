import { canonicalJson } from '../canonical-json.mjs';
import { isErased } from '../entry-check.mjs';
import { ACCESS_DENIED } from '../record-actions.mjs';
import { ErasedContents } from './erased-contents.mjs';
import { AUTHORISING } from './history.mjs';
import { equalRequestGaps, limitUsesIn, mayCount } from './limit-window.mjs';
import { withAnyForm } from './malformed.mjs';

/**
 * Compares a decision file with the log, of which all entries are added in order. This finds what the file alone cannot
 * show, such as an entry that it lacks.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./read-file.mjs').DecisionFile} DecisionFile
 * @typedef {import('./history.mjs').FileHistory} History
 * @typedef {import('./report.mjs').Difference} Difference
 */
export class LogCheck {
  /** @type {Difference[]} */
  differences = [];
  /** The grounds of the decision that the log does not show. @type {Difference[]} */
  gaps = [];
  /**
   * Entries about the execution and its decision after the checkpoint.
   * @type {{ sequence: number, action: string }[]}
   */
  later = [];

  /**
   * @param {DecisionFile} file
   * @param {History} history history of the file, recomputed
   * @param {number} size number of entries in the file's checkpoint
   */
  constructor(file, history, size) {
    this.size = size;
    this.history = history;
    this.limitUses = limitUsesIn(file.entries);
    this.erasedContents = new ErasedContents(file, history, this.limitUses);
    this.entries = new Map(file.entries.map((entry) => [entry['sequence'], entry]));
    this.policies = new Map(file.policies.map((policy) => [policy.id, policy]));
  }

  /**
   * Compares an entry with the file.
   * @param {Json} entry next entry of the log
   */
  add(entry) {
    withAnyForm(
      () => this.#add(entry),
      (fault) => this.#differ(entry['sequence'], fault),
    );
  }

  /** @param {Json} entry */
  #add(entry) {
    const { sequence, subjectType, subjectId, hash, action } = entry;
    const own = this.entries.get(sequence);
    // An entry about a refused caller concerns no record of the file.
    if (action === ACCESS_DENIED && own === undefined) return;
    if (own !== undefined && own['hash'] !== hash) this.#differ(sequence, 'the log has another entry here');
    if (
      own === undefined &&
      this.history.isReached(entry) &&
      this.history.entriesAbout(subjectType, subjectId).length > 0
    ) {
      if (sequence <= this.size) this.#differ(sequence, `the file lacks this entry, ${action}`);
      else this.later.push({ sequence, action });
    }
    const { state } = this.ownOf(entry);
    if (subjectType === 'policy' && state) this.#notePolicy(sequence, state);
    if (AUTHORISING.includes(action) && state) this.gaps.push(...equalRequestGaps(entry, this.limitUses));
    this.erasedContents.add(entry, own);
  }

  /**
   * Returns the entry as the file has it, with contents that were erased from the log since; the entry itself if the
   * file does not have its contents.
   * @param {Json} entry entry of the log
   * @returns {Json}
   */
  ownOf(entry) {
    const own = this.entries.get(entry['sequence']);
    return own === undefined || isErased(own) ? entry : own;
  }

  /**
   * Adds a gap for each use of a limit of the file that depends on a local time on which two versions of the time zone
   * database disagree.
   * @param {readonly Json[]} entries entries of the log that authorised or denied executions by such a time
   */
  addUndecided(entries) {
    for (const entry of entries)
      for (const use of this.limitUses.filter((one) => mayCount(one, entry)))
        this.gaps.push({
          sequence: use['sequence'],
          difference: `the clock was read for ${entry['subjectId']} by time zones of another version, so whether it used its limits is not known`,
        });
  }

  /**
   * @param {number} sequence
   * @param {Json} state
   */
  #notePolicy(sequence, { status: _status, warnings: _warnings, createdAt: _createdAt, ...content }) {
    const { id } = content;
    const own = this.policies.get(id);
    if (own !== undefined && canonicalJson(own) !== canonicalJson(content))
      this.#differ(sequence, `the policy ${id} has another content in the file`);
  }

  /**
   * @param {number} sequence
   * @param {string} difference
   */
  #differ(sequence, difference) {
    this.differences.push({ sequence, difference });
  }
}
