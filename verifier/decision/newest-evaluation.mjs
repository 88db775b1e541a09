import { hashOf } from '../canonical-json.mjs';
import { EVALUATIONS } from './read-file.mjs';

/**
 * Finds rules of an older evaluation than that of rules which had decided before: the service had left it by then.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 */
export class NewestEvaluation {
  /** Maps policies in force to the hash of their content. @type {Map<string, string>} */
  #inForce = new Map();
  /** Maps the hashes of rules to their evaluation; null if it is not known. @type {Map<unknown, number | null>} */
  #evaluations;
  /** Evaluations newer than the oldest one of the file's rules. @type {readonly number[]} */
  #newer;
  #newest = 0;

  /** @param {readonly import('./read-file.mjs').Rules[]} rules of the file */
  constructor(rules) {
    this.#evaluations = new Map(rules.map(({ hash, evaluation }) => [hash, evaluation]));
    const oldest = Math.min(...rules.map(({ evaluation }) => evaluation));
    this.#newer = EVALUATIONS.filter((evaluation) => evaluation > oldest);
  }

  /**
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state nothing if it was erased
   * @returns {string[]} faults
   */
  faults({ subjectType, subjectId, audit }, state) {
    if (this.#newer.length === 0) return [];
    if (subjectType === 'policy' && state) this.#note(subjectId, state);
    const { rules } = audit.details ?? {};
    if (typeof rules !== 'string') return [];
    const evaluation = this.#evaluationOf(rules);
    const newest = this.#newest;
    this.#newest = Math.max(newest, evaluation ?? 0);
    return evaluation === null || evaluation >= newest
      ? []
      : [`its rules are of the evaluation ${evaluation}, and others of ${newest} decided before`];
  }

  /**
   * @param {string} id
   * @param {Json} policy
   */
  #note(id, { status, warnings: _warnings, createdAt: _createdAt, ...content }) {
    if (status === 'active') this.#inForce.set(id, hashOf(content));
    else this.#inForce.delete(id);
  }

  /**
   * @param {string} hash of the rules in force
   * @returns {number | null}
   */
  #evaluationOf(hash) {
    const earlier = this.#evaluations.get(hash);
    if (earlier !== undefined) return earlier;
    const policies = [...this.#inForce].sort(([one], [other]) => (one < other ? -1 : 1));
    const evaluation = this.#newer.find((evaluation) =>
      ['allow', 'deny'].some((defaultEffect) => hashOf({ defaultEffect, evaluation, policies }) === hash),
    );
    this.#evaluations.set(hash, evaluation ?? null);
    return evaluation ?? null;
  }
}
