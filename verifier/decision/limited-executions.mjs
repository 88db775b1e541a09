import { isObject } from '../entry-check.mjs';
import { matchingPolicies } from '../evaluation/evaluate.mjs';
import { isAmount, isWithin } from '../evaluation/limits.mjs';
import { ZONES } from '../evaluation/zone-data.mjs';
import { isDigest, mayCount } from './limit-window.mjs';
import { asAgent } from './reviewer.mjs';

/**
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 */

/** The most deciding policies that an entry names. */
const MAX_NAMED = 10;

/** Finds executions that must have used limits of the file, and say that other policies allowed them. */
export class LimitedExecutions {
  /** Maps ids to the policies in force so far. @type {Map<string, Policy>} */
  #policies = new Map();
  /** The agents so far, by id. @type {Map<string, Json>} */
  #agents = new Map();

  /**
   * @param {readonly Json[]} limitUses of the file
   * @param {ReadonlyMap<string, Policy>} policies of the file, by id
   */
  constructor(limitUses, policies) {
    /** Each with the name of its policy: versions of one name count together. @type {readonly Json[]} */
    this.limitUses = limitUses.flatMap((use) => {
      const name = policies.get(use['policyId'])?.name;
      return name === undefined ? [] : [{ ...use, name }];
    });
  }

  /**
   * Notes the policies in force and the agents.
   * @param {Json} entry the next one of the log
   * @param {Json} state
   */
  note({ subjectType, subjectId }, state) {
    if (this.limitUses.length === 0) return;
    if (subjectType === 'agent') this.#agents.set(subjectId, state);
    if (subjectType !== 'policy') return;
    if (state['status'] === 'active') this.#policies.set(subjectId, /** @type {any} */ (state));
    else this.#policies.delete(subjectId);
  }

  /**
   * @param {Json} entry that authorised an execution
   * @param {Json} execution
   * @returns {string[]} faults
   */
  faults(entry, execution) {
    const uses = this.limitUses.filter(
      (use) => mayCount(use, entry) && (!isDigest(use['key']) || use['actionHash'] === execution['actionHash']),
    );
    if (uses.length === 0) return [];
    const names = new Set(uses.map((use) => use['name']));
    return [...this.#policies.values()]
      .filter(({ name }) => names.has(name))
      .flatMap((policy) => this.#faultsOf(policy, entry, execution));
  }

  /**
   * @param {Policy} policy with a limit of the file, or an earlier version of such a policy
   * @param {Json} entry
   * @param {Json} execution
   */
  #faultsOf(policy, { audit, timestamp, subjectId }, execution) {
    const { policies = [], limited = [], zones } = audit.details;
    const agent = this.#agents.get(execution['agentId']);
    const principal = this.#principalOf(execution);
    if (!Array.isArray(policies) || !Array.isArray(limited) || agent === undefined || principal === undefined)
      return [];
    const limitedUses = limited.filter(isObject).filter(({ policyId }) => policyId === policy.id);
    if (limitedUses.length > 0)
      return limitedUses.some((use) => isReached(policy, use))
        ? []
        : [`${subjectId} says that a limit of ${policy.name} was reached, which was not`];
    const decidingIds = policies.filter(isObject).map(({ id }) => id);
    const hasForeignClock =
      zones !== ZONES.version && (policy.conditions ?? []).some(({ clock }) => clock !== undefined);
    if (decidingIds.includes(policy.id) || decidingIds.length >= MAX_NAMED || hasForeignClock) return [];
    const { action, resourceType, resourceId, parameters } = execution;
    const request = { action, resourceType, resourceId, parameters, isRedacted: true, principal };
    const asker = asAgent(/** @type {any} */ (agent));
    const matchesAmong = (/** @type {Policy[]} */ candidates) =>
      matchingPolicies(asker, { ...request, time: new Date(timestamp) }, candidates);
    // Conditions that need facts are unknown here: a policy that allows does not match by them, and any other may outrank it.
    const outrankingPolicies = decidingIds
      .flatMap((id) => this.#policies.get(String(id)) ?? [])
      .filter(
        ({ priority, effect }) => priority > policy.priority || (priority === policy.priority && effect !== 'allow'),
      )
      .map((other) => ({ ...other, conditions: [] }));
    return matchesAmong([policy]).length === 0 || matchesAmong(outrankingPolicies).length > 0
      ? []
      : [`${subjectId} says that it was authorised without ${policy.name}, which has limits and allowed it`];
  }

  /**
   * @param {Json} execution
   * @returns {import('../evaluation/principals.mjs').Principal | null | undefined} undefined if the person is not known
   */
  #principalOf({ onBehalfOf }) {
    const { subject, roles = [] } = onBehalfOf ?? {};
    if (subject === undefined) return null;
    if (!subject.startsWith('agent:')) return { subject, roles };
    const person = this.#agents.get(subject.slice('agent:'.length));
    return person && { person: asAgent(/** @type {any} */ (person)) };
  }
}

/**
 * @param {Policy} policy
 * @param {import('../entry-check.mjs').JsonObject} use
 */
function isReached({ limits = [] }, use) {
  const limit = limits[Number(use['limit'])];
  const { before, amount } = use;
  if (limit === undefined || !isAmount(before) || !(amount === null || isAmount(amount))) return false;
  return !isWithin(limit, { before, amount });
}
