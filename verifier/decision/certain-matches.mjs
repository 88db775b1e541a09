import { scalarAt } from '../evaluation/conditions.mjs';
import { matchingPolicies } from '../evaluation/evaluate.mjs';
import { claimedEntityIn } from '../evaluation/resources.mjs';
import { ZONES } from '../evaluation/zone-data.mjs';
import { claimsIn, earlierIn } from './facts.mjs';
import { EVALUATIONS } from './read-file.mjs';

/**
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 * @typedef {import('../evaluation/evaluate.mjs').Agent} Agent
 * @typedef {import('../evaluation/principals.mjs').Principal} Principal
 * @typedef {import('../evaluation/conditions.mjs').Condition} Condition
 * @typedef {'matches' | 'no' | 'facts' | 'zones'} Certainty tells if a policy with the effect `allow` matches, or what
 *   the match depends on
 */

/** The effects of policies, the strongest last. */
const EFFECTS = ['allow', 'require_approval', 'deny'];
/** Milliseconds by which the clock of a zone seldom differs between versions of the database. */
const HOUR = 3_600_000;

/**
 * The place of a policy among those that match: by priority, and within it by effect.
 * @param {Policy | undefined} policy
 */
export function rankOf(policy) {
  return policy === undefined ? -Infinity : policy.priority * EFFECTS.length + EFFECTS.indexOf(policy.effect);
}

/** The request of an execution that no file recomputes. An export shows all of it except the facts of conditions. */
export class MatchingRequest {
  /** True if the clocks were read by time zones of another version than that of the verifier. */
  #hasForeignZones;
  /** @type {Json} */
  #details;

  /**
   * @param {Agent} agent as it was then
   * @param {{ execution: Json, entry: Json, principal: Principal | null }} authorised
   */
  constructor(agent, { execution, entry, principal }) {
    const { action, resourceType, resourceId, parameters, run } = execution;
    this.agent = agent;
    this.run = run;
    this.time = Date.parse(entry['timestamp']);
    this.request = { action, resourceType, resourceId, parameters, principal };
    this.#details = entry['audit'].details;
    const { zones } = this.#details;
    this.#hasForeignZones = ZONES.zones.length === 0 || (zones !== undefined && zones !== ZONES.version);
  }

  /**
   * True unless the policy cannot match, whatever the facts were.
   * @param {Policy} policy
   */
  mayMatch(policy) {
    const conditions = this.#conditionsOnRequest(policy).filter(
      ({ clock }) => clock === undefined || !this.#hasForeignZones,
    );
    return EVALUATIONS.some((evaluation) => this.#isMatching({ ...policy, conditions }, evaluation));
  }

  /**
   * @param {Policy} policy that allows
   * @returns {Certainty}
   */
  certaintyOf(policy) {
    const conditionsOnRequest = this.#conditionsOnRequest(policy);
    const isCertain = (/** @type {readonly Condition[]} */ conditions, time = this.time) =>
      EVALUATIONS.every((evaluation) => this.#isMatching({ ...policy, conditions }, evaluation, time));
    const hasClock = this.#hasForeignZones && conditionsOnRequest.some(({ clock }) => clock !== undefined);
    if (!isCertain(hasClock ? conditionsOnRequest.filter(({ clock }) => clock === undefined) : conditionsOnRequest))
      return 'no';
    if (hasClock) {
      const times = [this.time - HOUR, this.time, this.time + HOUR].filter((time) =>
        isCertain(conditionsOnRequest, time),
      );
      if (ZONES.zones.length > 0 && times.length === 0) return 'no';
      if (times.length < 3) return 'zones';
    }
    const onFacts = (policy.conditions ?? []).filter(isOnFacts);
    if (onFacts.length === 0) return 'matches';
    return onFacts.every((condition) => this.#isLookedUp(condition)) ? 'facts' : 'no';
  }

  /**
   * True if the entry says of each condition on facts what was found.
   * @param {Policy} policy
   */
  saysFacts({ id, conditions = [] }) {
    const facts = [...earlierIn(this.#details), ...claimsIn(this.#details)];
    return conditions.every(
      (condition, index) =>
        !isOnFacts(condition) || facts.some((fact) => fact?.policyId === id && fact.condition === index),
    );
  }

  /**
   * True if the service looks for the facts of a condition. Without facts the condition is unknown, so a policy with
   * the effect `allow` does not match.
   * @param {Condition} condition
   */
  #isLookedUp(condition) {
    const { earlier, within, claim } = condition;
    if (earlier !== undefined) return Boolean(within) || this.run !== undefined;
    if (claim === undefined) return false;
    const { resourceId, parameters } = this.request;
    return EVALUATIONS.every(
      (evaluation) =>
        claimedEntityIn(resourceId, evaluation) !== undefined &&
        scalarAt(parameters, condition.parameter ?? '', evaluation >= 3) !== undefined,
    );
  }

  /** @param {Policy} policy */
  #conditionsOnRequest({ conditions = [] }) {
    return conditions.filter((condition) => !isOnFacts(condition));
  }

  /**
   * @param {Policy} policy
   * @param {number} evaluation the version of the rules
   * @param {number} [time] in milliseconds
   */
  #isMatching(policy, evaluation, time = this.time) {
    return matchingPolicies(this.agent, { ...this.request, evaluation, time: new Date(time) }, [policy]).length > 0;
  }
}

/** @param {Condition} condition */
function isOnFacts({ earlier, claim }) {
  return earlier !== undefined || claim !== undefined;
}
