import { isObject } from '../entry-check.mjs';
import { MAX_NAMED } from '../evaluation/evaluate.mjs';
import { isAmount, isDigest, isWithin } from '../evaluation/limits.mjs';
import { MatchingRequest, rankOf } from './certain-matches.mjs';
import { mayCount } from './limit-window.mjs';
import { hashOfRequest } from './request-hash.mjs';
import { asAgent } from './reviewer.mjs';

/**
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('../evaluation/evaluate.mjs').Policy} Policy
 * @typedef {{ id: string, details: Json, matchingPolicies: readonly Policy[], request: MatchingRequest, laterUses: readonly Json[] }} Authorised an
 *   execution that was authorised, by the policies that it names, and the uses of the file before which it counts
 */

/** Finds executions that must have used limits or grants of the file, and say that other policies allowed them. */
export class LimitedExecutions {
  /** Maps ids to the policies in force so far. @type {Map<string, Policy>} */
  #policies = new Map();
  /** The agents so far, by id. @type {Map<string, Json>} */
  #agents = new Map();
  /**
   * Executions that count only by time zones of a version that this verifier does not have.
   * @type {import('./report.mjs').Difference[]}
   */
  #gaps = [];
  /** Executions that count only if conditions on claims or earlier executions held for them. */
  unknownFacts = 0;

  /**
   * @param {readonly Json[]} limitUses of the file
   * @param {readonly Json[]} grants of the file, their states
   * @param {ReadonlyMap<string, Policy>} policies of the file, by id
   */
  constructor(limitUses, grants, policies) {
    this.grants = grants;
    /** Each with the name of its policy: versions of one name count together. @type {readonly Json[]} */
    this.limitUses = limitUses.flatMap((use) => {
      const name = policies.get(use['policyId'])?.name;
      return name === undefined ? [] : [{ ...use, name }];
    });
  }

  /**
   * Notes the policies in force and the agents.
   * @param {Json} entry the next one of the log
   * @param {Json | null | undefined} state nothing if it was erased
   */
  note({ subjectType, subjectId }, state) {
    if ((this.limitUses.length === 0 && this.grants.length === 0) || !state) return;
    if (subjectType === 'agent') this.#agents.set(subjectId, state);
    if (subjectType !== 'policy') return;
    if (state['status'] === 'active') this.#policies.set(subjectId, /** @type {any} */ (state));
    else this.#policies.delete(subjectId);
  }

  /**
   * @param {Json} entry that authorised an execution
   * @param {Json} execution
   * @returns {{ faults: string[], gaps: import('./report.mjs').Difference[] }}
   */
  check(entry, execution) {
    const faults = this.#faults(entry, execution);
    return { faults, gaps: this.#gaps.splice(0) };
  }

  /**
   * @param {Json} entry
   * @param {Json} execution
   * @returns {string[]}
   */
  #faults(entry, execution) {
    const laterUses = this.limitUses.filter((use) => mayCount(use, entry) && isOfRequest(use, execution));
    const mayBeServed = entry['action'] === 'execution.authorized' && this.#mayBeServed(execution);
    if (laterUses.length === 0 && !mayBeServed) return [];
    const { details } = entry['audit'];
    const id = entry['subjectId'];
    const { agentId, onBehalfOf } = execution;
    const agent = this.#agents.get(agentId);
    if (agent === undefined) return [`${id} is of ${String(agentId)}, which the log has not created before`];
    const principal = this.#principalOf(execution);
    if (principal === undefined)
      return [`${id} is on behalf of ${String(onBehalfOf.subject)}, who is no person before`];
    const { policies = [], limited = [], used = [] } = details;
    if (![policies, limited, used].every((list) => Array.isArray(list) && list.every(isObject)))
      return [`${id} names policies or limits in another form`];
    const request = new MatchingRequest(asAgent(/** @type {any} */ (agent)), { execution, entry, principal });
    /** @type {Policy[]} */
    const policiesNamed = policies.flatMap((/** @type {Json} */ policy) => this.#policies.get(policy['id']) ?? []);
    const names = new Set(laterUses.map((use) => use['name']));
    const matchingPolicies = policiesNamed.filter((policy) => request.mayMatch(policy));
    const authorised = { id, details, matchingPolicies, request, laterUses };
    return [
      ...this.#namingFaults(entry, policiesNamed, request),
      ...(mayBeServed ? this.#approvalFaults(id, matchingPolicies, request) : []),
      ...[...this.#policies.values()]
        .filter(({ name }) => names.has(name))
        .flatMap((policy) => this.#faultsOf(policy, authorised)),
    ];
  }

  /**
   * Checks that the policies that an entry names can have authorised its execution.
   * @param {Json} entry
   * @param {readonly Policy[]} policiesNamed those in force
   * @param {MatchingRequest} request
   */
  #namingFaults({ subjectId, audit }, policiesNamed, request) {
    const { policies = [] } = audit.details;
    const ids = policies.map((/** @type {Json} */ { id }) => String(id));
    const [first] = policiesNamed;
    const isOrdered = isAscending(ids);
    return [
      ...(policiesNamed.length === ids.length ? [] : [`${subjectId} names policies that were not in force`]),
      ...(isOrdered && ids.length <= MAX_NAMED
        ? []
        : [`${subjectId} does not name ten policies at most, the oldest first`]),
      ...(policiesNamed.every((policy) => rankOf(policy) === rankOf(first))
        ? []
        : [`${subjectId} names policies of several ranks`]),
      ...policiesNamed
        .filter((policy) => !request.mayMatch(policy))
        .map(({ name }) => `${subjectId} says that ${name} authorised it, which does not match it`),
    ];
  }

  /**
   * True if a grant of the file may cover an execution that names no grant.
   * @param {Json} execution
   */
  #mayBeServed({ agentId, action, resourceType, onBehalfOf, grantId }) {
    const principal = onBehalfOf?.subject ?? null;
    return (
      grantId === undefined &&
      this.grants.some(
        (grant) =>
          grant['agentId'] === agentId &&
          grant['action'] === action &&
          grant['resourceType'] === resourceType &&
          grant['onBehalfOf'] === principal,
      )
    );
  }

  /**
   * Finds a policy that requires an approval, and comes before those that are said to have authorised an execution.
   * @param {string} id of the execution
   * @param {readonly Policy[]} matchingPolicies those named
   * @param {MatchingRequest} request
   */
  #approvalFaults(id, matchingPolicies, request) {
    const rank = rankOf(matchingPolicies[0]);
    const requiring = [...this.#policies.values()].find(
      (policy) => policy.effect !== 'allow' && rankOf(policy) > rank && request.certaintyOf(policy) === 'matches',
    );
    return requiring === undefined
      ? []
      : [`${id} was authorised without an approval or a grant, which ${requiring.name} requires`];
  }

  /**
   * @param {Policy} policy with a limit of the file, or an earlier version of such a policy
   * @param {Authorised} authorised
   * @returns {string[]}
   */
  #faultsOf(policy, { id, details, matchingPolicies, request, laterUses }) {
    const { limited = [], used = [] } = details;
    const isOfPolicy = (/** @type {Json} */ { policyId }) => policyId === policy.id;
    const limitedUses = limited.filter(isOfPolicy);
    if (limitedUses.length > 0)
      return limitedUses.some((/** @type {Json} */ use) => isReached(policy, use))
        ? []
        : [`${id} says that a limit of ${policy.name} was reached, which was not`];
    if (matchingPolicies.includes(policy)) return [];
    const [first] = matchingPolicies;
    if (first !== undefined && rankOf(first) > rankOf(policy)) return [];
    const certainty = request.certaintyOf(policy);
    if (certainty === 'facts') return this.#factFaults(policy, id, request);
    if (certainty === 'zones') this.#lack(id, policy, laterUses);
    if (certainty !== 'matches') return [];
    // If more policies decided, an entry names only the oldest, but uses the limits of all of them.
    const isBeyond =
      matchingPolicies.length === MAX_NAMED &&
      rankOf(first) === rankOf(policy) &&
      policy.id > String(matchingPolicies.at(-1)?.id);
    return isBeyond && used.some(isOfPolicy)
      ? []
      : [`${id} says that it was authorised without ${policy.name}, which has limits and allowed it`];
  }

  /**
   * @param {Policy} policy that matches if its conditions on facts hold
   * @param {string} id of the execution
   * @param {MatchingRequest} request
   */
  #factFaults(policy, id, request) {
    if (!request.saysFacts(policy)) return [`${id} does not say what was found for the conditions of ${policy.name}`];
    this.unknownFacts += 1;
    return [];
  }

  /**
   * @param {string} id of an execution
   * @param {Policy} policy
   * @param {readonly Json[]} laterUses
   */
  #lack(id, { name }, laterUses) {
    const [sequence] = laterUses.filter((use) => use['name'] === name).map((use) => use['sequence']);
    const difference = `the clock of ${name} was read for ${id} by time zones of another version, so whether it used its limits is not known`;
    this.#gaps.push({ sequence, difference });
  }

  /**
   * @param {Json} execution
   * @returns {import('../evaluation/principals.mjs').Principal | null | undefined} undefined if the log has no such
   *   person
   */
  #principalOf({ onBehalfOf }) {
    const { subject, roles = [] } = onBehalfOf ?? {};
    if (subject === undefined) return null;
    if (typeof subject !== 'string') return undefined;
    if (!subject.startsWith('agent:')) return { subject, roles };
    const person = this.#agents.get(subject.slice('agent:'.length));
    return person?.['kind'] === 'human' ? { person: asAgent(/** @type {any} */ (person)) } : undefined;
  }
}

/** @param {readonly string[]} ids */
function isAscending(ids) {
  return ids.every((id, index) => index === 0 || String(ids[index - 1]) < id);
}

/**
 * True unless the use is of equal requests, and the execution is none of them.
 * @param {Json} use
 * @param {Json} execution
 */
function isOfRequest({ key, actionHash }, execution) {
  return !isDigest(key) || actionHash === hashOfRequest(execution);
}

/**
 * @param {Policy} policy
 * @param {Json} use
 */
function isReached({ limits = [] }, use) {
  const limit = limits[Number(use['limit'])];
  const { before, amount } = use;
  if (limit === undefined || !isAmount(before) || !(amount === null || isAmount(amount))) return false;
  return !isWithin(limit, { before, amount });
}
