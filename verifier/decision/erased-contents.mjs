import { isErased } from '../entry-check.mjs';
import { entityIn } from '../evaluation/resources.mjs';
import { BindingRejections } from './binding-rejections.mjs';
import { isEmergencyProposal } from './changes.mjs';
import { AUTHORISING } from './history.mjs';
import { earlierIn, isInTime } from './facts.mjs';
import { mayCount } from './limit-window.mjs';
import { OpenEmergencies } from './open-emergencies.mjs';
import { UnknownOutcomes } from './unknown-outcomes.mjs';

/** Maximum number of conditions for which erased executions are counted; no request may look up more facts. */
const MAX_CONDITIONS = 1_000;

/**
 * Counts the records whose contents were erased from a log, and which could have led to another decision than that of a
 * decision file. All entries of the log are added in order.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./read-file.mjs').DecisionFile} DecisionFile
 * @typedef {import('./history.mjs').FileHistory} History
 */
export class ErasedContents {
  /** Number of claims about the entities of the file that neither the log nor the file shows any more. */
  #claims = 0;
  /** Number of executions that may have used a grant of the file. */
  #uses = 0;
  /** Number of executions that a condition on earlier executions may have matched. */
  #earlier = 0;
  /** Number of rejections that may still have been binding; the log no longer shows what they rejected. */
  #bindingRejections = 0;
  /** Number of executions that a limit of the file may count; only their erasures state the uses. */
  #limitUses = 0;
  /** Number of decisions before the emergency that the file is about. */
  #decisions = 0;
  /** Number of grants of the file's agents; the log no longer shows which decision gave each grant. */
  #grants = 0;
  /** True once the log has shown the creation of a grant of the file. */
  #hasGrant = false;
  /** Authorizations of the agents. @type {{ agentId: string, timestamp: string }[]} */
  #authorizations = [];
  /** @type {BindingRejections} */
  #rejections;
  #emergencies = new OpenEmergencies();
  /** @type {UnknownOutcomes} */
  #unknownOutcomes;

  /**
   * @param {DecisionFile} file
   * @param {History} history history of the file, recomputed
   * @param {readonly Json[]} limitUses uses of limits in the file
   */
  constructor(file, history, limitUses) {
    this.history = history;
    this.limitUses = limitUses;
    const states = (/** @type {string} */ kind) =>
      file.entries.flatMap(({ subjectType, state }) => (subjectType === kind && state !== null ? [state] : []));
    const executions = states('execution');
    this.entityIds = new Set(executions.flatMap(({ resourceId }) => entityIn(String(resourceId)) ?? []));
    this.agentIds = new Set(executions.map(({ agentId }) => agentId));
    this.#rejections = new BindingRejections(this.agentIds);
    this.#unknownOutcomes = new UnknownOutcomes(this.agentIds);
    /** True if the file has a grant. */
    this.hasGrants = states('grant').length > 0;
    this.policies = new Map(file.policies.map((policy) => [policy.id, policy]));
  }

  /**
   * @param {Json} entry next entry of the log
   * @param {Json | undefined} own the entry as the file has it
   */
  add(entry, own) {
    const { action, subjectId, timestamp, audit } = entry;
    // The file still has contents that were erased from the log after the file was made.
    const state = isErased(entry) ? own?.['state'] : entry['state'];
    // What comes before the entry decides, so it is counted before the entry is added.
    if (own !== undefined && !isErased(own)) this.#countGrounds(own);
    this.#rejections.add(entry, state);
    this.#unknownOutcomes.add(entry, state);
    this.#emergencies.add(entry, state);
    if (action === 'grant.created' && this.history.entriesAbout('grant', subjectId).length > 0) this.#hasGrant = true;
    if (action === 'claim.added' && isErased(entry) && !own && this.entityIds.has(audit.entityId)) this.#claims += 1;
    if (state) return;
    if (action === 'grant.created' && this.hasGrants && this.agentIds.has(audit.agentId)) this.#grants += 1;
    if (action === 'execution.authorized' && this.#hasGrant) this.#uses += 1;
    if (!AUTHORISING.includes(action)) return;
    if (this.agentIds.has(audit.agentId)) this.#authorizations.push({ agentId: audit.agentId, timestamp });
    if (this.limitUses.some((use) => mayCount(use, entry))) this.#limitUses += 1;
  }

  /**
   * Returns sentences about what cannot be checked.
   * @returns {string[]}
   */
  notes() {
    const entityNames = [...this.entityIds].join(', ');
    /** @type {[number, string, string][]} */
    const unknown = [
      [this.#claims, `claims about ${entityNames} that the file does not have`, 'what they were'],
      [this.#uses, 'executions after the grant was made', 'whether they used it'],
      [this.#grants, 'grants of the agent', 'whether a decision of the file gave one of them, too,'],
      [this.#limitUses, 'executions that a limit of the file may count', 'whether they used what their erasures say'],
      [this.#earlier, 'executions of the agent before', 'whether a condition on earlier ones meant them'],
      [
        this.#unknownOutcomes.erased,
        'executions of the agent before',
        'whether one was of the same action, with an unknown outcome,',
      ],
      [this.#bindingRejections, 'rejections of what the agent requested', 'whether one of them held'],
      [this.#decisions, 'decisions before the emergency', 'whether one of them was about an earlier one, still open,'],
    ];
    return unknown
      .filter(([count]) => count > 0)
      .map(([count, things, question]) => `The export has ${count} erased ${things}: ${question} cannot be checked.`);
  }

  /** @param {Json} entry entry of the file */
  #countGrounds(entry) {
    const { timestamp, audit, state } = entry;
    if (entry === this.history.makingEntry && isEmergencyProposal(entry)) this.#decisions = this.#emergencies.erased;
    // The call only counts erased executions here; the check of the log reports its faults.
    this.#unknownOutcomes.faultsBefore(entry);
    const isGranted = audit.action === 'execution.authorized' && state.grantId !== undefined;
    if (isGranted || audit.action === 'execution.approval_requested')
      this.#bindingRejections = Math.max(this.#bindingRejections, this.#rejections.erasedAt(timestamp));
    this.#countEarlier(entry);
  }

  /**
   * Counts executions that conditions on earlier executions may have matched.
   * @param {Json} entry entry of the file
   */
  #countEarlier({ timestamp, audit, state }) {
    const rules = earlierIn(audit.details)
      .slice(0, MAX_CONDITIONS)
      .flatMap(({ policyId, condition, executionId }) =>
        executionId === null ? (this.policies.get(policyId)?.conditions?.[condition] ?? []) : [],
      );
    for (const rule of rules) {
      const matches = this.#authorizations.filter(
        ({ agentId, timestamp: time }) => agentId === state.agentId && isInTime(rule, time, timestamp),
      );
      this.#earlier = Math.max(this.#earlier, matches.length);
    }
  }
}
