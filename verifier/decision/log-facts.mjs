import { isErased } from '../entry-check.mjs';
import { matchesAction } from '../evaluation/actions.mjs';
import { normalFormC } from '../evaluation/normal-form.mjs';
import { claimsIn, earlierIn, isInTime, isTooMuch, pathOf, reachText, sizesOf } from './facts.mjs';
import { AUTHORISING } from './history.mjs';

/**
 * Finds in a log what the conditions of policies look for: earlier executions, and claims. An entry names what the
 * service found; only the whole log shows that the service left nothing out.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./read-file.mjs').Policy} Policy
 * @typedef {{ id: string, timestamp: string }} Authorisation of an execution
 * @typedef {{ byResource: Map<string, Authorisation>, last: Authorisation | undefined }} AuthorisationsOfAction
 *   the last authorisation on each resource, the oldest first, and the last of all
 * @typedef {Map<string, AuthorisationsOfAction>} Authorisations by action
 * @typedef {{ predicate: string, sizes: import('./facts.mjs').Sizes }} Claim
 */

/** Longest time in milliseconds that a condition looks back. */
const LOOKED_BACK_MS = 7 * 86_400_000;

export class LogFacts {
  /** Maps each run of an agent to its authorised executions. @type {Map<string, Authorisations>} */
  #ofRuns = new Map();
  /** Maps agents to their authorised executions of the last week. @type {Map<string, Authorisations>} */
  #ofAgents = new Map();
  /** Maps entities that exist to their claims, by id. @type {Map<string, Map<string, Claim>>} */
  #claims = new Map();
  /** Ids of entities of which at least one claim was erased. @type {Set<string>} */
  #erasedOf = new Set();

  /**
   * Remembers the facts that an entry adds or removes.
   * @param {Json} entry next entry of the log
   * @param {Json | undefined} before state of the entry's record before the entry; undefined if there was none
   */
  note(entry, before) {
    const { action, subjectId, audit, state } = entry;
    if (AUTHORISING.includes(action) && state) this.#authorise(entry, state);
    if (action === 'execution.erased' && before) this.#forget(subjectId, before);
    if (action === 'entity.created') this.#claims.set(subjectId, new Map());
    if (action === 'entity.deleted') this.#claims.delete(subjectId);
    if (action === 'claim.added' && isErased(entry)) this.#erasedOf.add(audit.entityId);
    if (action === 'claim.added' && state)
      this.#claims.get(state['entityId'])?.set(subjectId, {
        predicate: normalFormC(String(state['predicate'])),
        sizes: sizesOf(/** @type {any} */ (state)),
      });
    if (action === 'claim.removed') this.#claims.get(audit.entityId)?.delete(subjectId);
  }

  /**
   * Compares the facts that an entry names with those that the log shows.
   * @param {Json} entry entry of an execution, which must not have been noted yet
   * @param {readonly Policy[]} policies policies in force
   * @returns {string[]} faults
   */
  faults({ timestamp, audit, state }, policies) {
    const conditionOf = (/** @type {{ policyId: string, condition: number }} */ { policyId, condition }) =>
      policies.find(({ id }) => id === policyId)?.conditions?.[condition];
    const earlierFaults = earlierIn(audit.details).flatMap((fact) => {
      const rule = fact.executionId === null ? conditionOf(fact) : undefined;
      return rule === undefined ? [] : this.#earlierFaults(rule, { state, timestamp });
    });
    const claimFaults = claimsIn(audit.details).flatMap((fact) => {
      const rule = conditionOf(fact);
      return rule === undefined ? [] : this.#claimFaults(rule, fact);
    });
    return [...earlierFaults, ...claimFaults];
  }

  /**
   * @param {Json} entry
   * @param {Json} state
   */
  #authorise({ subjectId: id, timestamp }, state) {
    const { agentId, run, action } = state;
    const resource = resourceOf(state);
    for (const [authorisations, key] of this.#placesOf(agentId, run)) {
      const ofKey = authorisations.get(key) ?? new Map();
      const ofAction = ofKey.get(action) ?? { byResource: new Map(), last: undefined };
      authorisations.set(key, ofKey.set(action, ofAction));
      const { byResource } = ofAction;
      ofAction.last = { id, timestamp };
      // A map keeps the order of insertion, and the last authorisation has to come last.
      byResource.delete(resource);
      byResource.set(resource, ofAction.last);
      if (authorisations === this.#ofAgents) forgetBefore(byResource, Date.parse(timestamp) - LOOKED_BACK_MS);
    }
  }

  /**
   * Forgets an erased execution, because the service does not find it any more. The newest execution with the same
   * action that is still remembered takes its place.
   * @param {string} id
   * @param {Json} state state of the execution before its erasure
   */
  #forget(id, { agentId, run, action }) {
    for (const [authorisations, key] of this.#placesOf(agentId, run)) {
      const ofAction = authorisations.get(key)?.get(action);
      if (ofAction === undefined) continue;
      const { byResource } = ofAction;
      for (const [resource, authorisation] of byResource) if (authorisation.id === id) byResource.delete(resource);
      if (ofAction.last?.id === id) ofAction.last = [...byResource.values()].at(-1);
    }
  }

  /**
   * @param {string} agentId
   * @param {string | undefined} run
   * @returns {[Map<string, Authorisations>, string][]}
   */
  #placesOf(agentId, run) {
    return [[this.#ofAgents, agentId], ...(run === undefined ? [] : [runPlace(this.#ofRuns, agentId, run)])];
  }

  /**
   * @param {import('../evaluation/conditions.mjs').Condition} rule
   * @param {Json} entry
   * @returns {string[]}
   */
  #earlierFaults(rule, { state, timestamp }) {
    const { earlier: pattern = '', within, resource } = rule;
    if (!within && state.run === undefined) return [];
    const [authorisations, key] = within
      ? /** @type {const} */ ([this.#ofAgents, state.agentId])
      : runPlace(this.#ofRuns, state.agentId, state.run);
    const candidates = [...(authorisations.get(key) ?? [])]
      .filter(([action]) => matchesAction(pattern, action))
      .map(([, { byResource, last }]) => (resource === 'same' ? byResource.get(resourceOf(state)) : last));
    const hidden = candidates.find((one) => one !== undefined && isInTime(rule, one.timestamp, timestamp));
    return hidden === undefined ? [] : [`${hidden.id} had been authorized before ${reachText(rule)}`];
  }

  /**
   * Compares the claims that an entry names with those of the log. An entry names no claims (`ids` is null) if the
   * entity does not exist, or has too many claims.
   * @param {import('../evaluation/conditions.mjs').Condition} rule
   * @param {{ entityId: string, ids: readonly string[] | null }} fact
   * @returns {string[]} one fault, or none
   */
  #claimFaults({ claim = '' }, { entityId, ids }) {
    const ofEntity = this.#claims.get(entityId);
    const all = [...(ofEntity ?? [])].filter(([, { predicate }]) => predicate === normalFormC(claim));
    const isKnown = ofEntity !== undefined && !isTooMuch(all.map(([, { sizes }]) => sizes));
    const had = `${entityId} ${ofEntity === undefined ? 'did not exist' : `had ${all.length} such claims`}`;
    if (ids === null) return isKnown && !this.#erasedOf.has(entityId) ? [`${had}, and none was said to be known`] : [];
    if (!isKnown) return [`${had}, so nothing was known, and ${ids.length} were looked at`];
    // The entry also names claims that were erased since, and these are not in the log.
    const hasAll = all.every(([id]) => ids.includes(id));
    const isSame = hasAll && (ids.length === all.length || this.#erasedOf.has(entityId));
    return isSame ? [] : [`${had}, and ${ids.length} were looked at`];
  }
}

/**
 * @param {Map<string, Authorisations>} runs
 * @param {string} agentId
 * @param {string} run
 * @returns {[Map<string, Authorisations>, string]}
 */
function runPlace(runs, agentId, run) {
  return [runs, JSON.stringify([agentId, run])];
}

/** @param {Json} execution */
function resourceOf({ resourceType, resourceId }) {
  return JSON.stringify([resourceType, pathOf(resourceId)]);
}

/**
 * Removes the authorisations before a time.
 * @param {Map<string, Authorisation>} authorisations the oldest first
 * @param {number} time milliseconds since 1970
 */
function forgetBefore(authorisations, time) {
  for (const [resource, { timestamp }] of authorisations) {
    if (Date.parse(timestamp) >= time) return;
    authorisations.delete(resource);
  }
}
