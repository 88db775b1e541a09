import { hashOf } from '../canonical-json.mjs';
import { EVALUATIONS } from './read-file.mjs';

/**
 * The policies in force by the entries of a log so far, and the rules that entries name by their hash: these policies,
 * a default effect and a version of the rules of evaluation.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./read-file.mjs').Policy} Policy
 * @typedef {{ policies: Policy[], defaultEffect: string, evaluation: number }} Rules
 */

const CURRENT = Math.max(...EVALUATIONS);
/** The newest first, as the service decides by it most often. */
const CANDIDATES = [...EVALUATIONS]
  .reverse()
  .flatMap((evaluation) => ['deny', 'allow'].map((defaultEffect) => ({ defaultEffect, evaluation })));

export class LogRules {
  /** Maps the ids of policies in force to them, each with the hash of its content. @type {Map<string, { policy: Policy, hash: string }>} */
  #inForce = new Map();
  /** The policies in force, in the order of their ids; nothing after a change of them. @type {Policy[] | undefined} */
  #policies;
  /** Hashes of the rules that the policies in force may be, in the order of the candidates, once they were needed. @type {string[]} */
  #hashes = [];
  /** Maps decisions on changes to the rules that each names. @type {Map<string, { hash: string, rules: Rules }>} */
  #ofChanges = new Map();
  #newestEvaluation = 0;

  /**
   * @param {string} id of a policy
   * @param {Json} state
   */
  note(id, { status, warnings: _warnings, createdAt: _createdAt, ...content }) {
    if (status === 'active') this.#inForce.set(id, { policy: /** @type {any} */ (content), hash: hashOf(content) });
    else this.#inForce.delete(id);
    this.#policies = undefined;
    this.#hashes = [];
  }

  /** @returns {Policy[]} the policies in force, sorted as the service sorts them: the oldest identifiers come first */
  get policies() {
    this.#policies ??= [...this.#inForce.keys()].sort().flatMap((id) => this.#inForce.get(id)?.policy ?? []);
    return this.#policies;
  }

  /**
   * Returns the rules with a hash if they are in force, or if an open change names them.
   * @param {string} hash
   * @returns {Rules | undefined}
   */
  get(hash) {
    return this.inForce(hash) ?? [...this.#ofChanges.values()].find((change) => change.hash === hash)?.rules;
  }

  /**
   * Returns the rules with a hash if they are in force.
   * @param {string} hash
   * @returns {Rules | undefined}
   */
  inForce(hash) {
    const policies = this.policies;
    const hashOfRules = (/** @type {typeof CANDIDATES[number]} */ one) =>
      hashOf({ ...one, policies: policies.map(({ id }) => [id, this.#inForce.get(id)?.hash]) });
    const candidate = CANDIDATES.find((one, index) => (this.#hashes[index] ??= hashOfRules(one)) === hash);
    return candidate && { ...candidate, policies };
  }

  /**
   * Finds rules that could not decide: those not in force, and those of an evaluation that the service had left.
   * @param {string} hash
   * @returns {string[]} faults
   */
  faultsOf(hash) {
    const rules = this.inForce(hash);
    if (rules === undefined)
      return [`the rules ${hash} are not the ${this.policies.length} policies that were in force`];
    const newest = this.#newestEvaluation;
    this.#newestEvaluation = Math.max(newest, rules.evaluation);
    return rules.evaluation >= newest
      ? []
      : [`its rules are of the evaluation ${rules.evaluation}, and others of ${newest} decided before`];
  }

  /**
   * True if the rules with a hash are in force, and of an evaluation that is not the current one.
   * @param {string} hash
   */
  isOld(hash) {
    return (this.inForce(hash)?.evaluation ?? CURRENT) < CURRENT;
  }

  /**
   * Keeps the rules that a change names until it ends, since others may be in force by then.
   * @param {string} decisionId
   * @param {string} hash
   */
  keep(decisionId, hash) {
    const rules = this.inForce(hash);
    if (rules !== undefined) this.#ofChanges.set(decisionId, { hash, rules });
  }

  /** @param {string} decisionId of a change that has ended */
  release(decisionId) {
    this.#ofChanges.delete(decisionId);
  }
}
