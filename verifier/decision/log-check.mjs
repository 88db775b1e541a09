import { canonicalJson } from '../canonical-json.mjs';
import { isErased } from '../entry-check.mjs';
import { entityIn } from '../evaluation/resources.mjs';
import { ACCESS_DENIED } from '../record-actions.mjs';
import { BindingRejections } from './binding-rejections.mjs';
import { isEmergencyProposal } from './changes.mjs';
import { AUTHORISING } from './history.mjs';
import { earlierIn, isInTime } from './facts.mjs';
import { equalRequestGaps, limitUsesIn, mayCount } from './limit-window.mjs';
import { withAnyForm } from './malformed.mjs';
import { OpenEmergencies } from './open-emergencies.mjs';
import { UnknownOutcomes } from './unknown-outcomes.mjs';

/** The most conditions for which what was erased is counted; no request may look up more. */
const MAX_CONDITIONS = 1_000;

/**
 * Compares a decision file with all entries of the log, which are added one after another, to find what no file shows
 * by itself.
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
  /** Claims of its entities that neither the log nor the file shows any more. */
  erasedClaims = 0;
  /** Erased executions that may have used a grant of the file. */
  erasedUses = 0;
  /** Erased executions that a condition on earlier executions may have meant. */
  erasedEarlier = 0;
  /** Erased rejections that may still have held; the log no longer shows what they rejected. */
  erasedRejections = 0;
  /** Erased executions that a limit of the file may count; only their erasures state what they used. */
  erasedLimitUses = 0;
  /** Erased decisions before the emergency that the file is about. */
  erasedEmergencies = 0;
  /** True once a grant of the file was made. */
  #hasGrant = false;
  /** Erased grants of the agents; the log no longer shows which decision gave each. */
  erasedGrants = 0;
  /** Authorizations of the agents whose contents were erased. @type {Json[]} */
  #erasedAuthorizations = [];
  /** @type {BindingRejections} */
  #rejections;
  #emergencies = new OpenEmergencies();
  /** @type {UnknownOutcomes} */
  #unknownOutcomes;

  /**
   * @param {DecisionFile} file
   * @param {History} history of it, recomputed
   * @param {number} size of its checkpoint
   */
  constructor(file, history, size) {
    this.size = size;
    this.history = history;
    const states = (/** @type {string} */ kind) =>
      file.entries.flatMap(({ subjectType, state }) => (subjectType === kind && state !== null ? [state] : []));
    const executions = states('execution');
    this.targets = new Set(executions.flatMap(({ resourceId }) => entityIn(String(resourceId)) ?? []));
    this.agentIds = new Set(executions.map(({ agentId }) => agentId));
    this.#rejections = new BindingRejections(this.agentIds);
    this.#unknownOutcomes = new UnknownOutcomes(this.agentIds);
    this.limitUses = limitUsesIn(file.entries);
    this.hasGrants = states('grant').length > 0;
    this.entries = new Map(file.entries.map((entry) => [entry['sequence'], entry]));
    this.policies = new Map(file.policies.map((policy) => [policy.id, policy]));
  }

  /** @param {Json} entry the next one of the log */
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
    // A refused caller is no record of the file.
    if (action === ACCESS_DENIED && own === undefined) return;
    // Contents that were erased since are still in the file.
    const state = isErased(entry) ? own?.['state'] : entry['state'];
    if (own !== undefined && own['hash'] !== hash) this.#differ(sequence, 'the log has another entry here');
    if (own !== undefined && !isErased(own)) this.#expectNewest(own);
    if (
      own === undefined &&
      this.history.isReached(entry) &&
      this.history.entriesAbout(subjectType, subjectId).length > 0
    ) {
      if (sequence <= this.size) this.#differ(sequence, `the file lacks this entry, ${action}`);
      else this.later.push({ sequence, action });
    }
    if (AUTHORISING.includes(action) && !state && this.agentIds.has(entry['audit'].agentId))
      this.#erasedAuthorizations.push({ agentId: entry['audit'].agentId, timestamp: entry['timestamp'] });
    if (action === 'claim.added' && isErased(entry) && !own && this.targets.has(entry['audit'].entityId))
      this.erasedClaims += 1;
    if (subjectType === 'policy' && state) this.#notePolicy(sequence, state);
    this.#rejections.add(entry, state);
    this.#unknownOutcomes.add(entry, state);
    this.#emergencies.add(entry, state);
    if (AUTHORISING.includes(action) && !state && this.limitUses.some((use) => mayCount(use, entry)))
      this.erasedLimitUses += 1;
    if (AUTHORISING.includes(action) && state) this.gaps.push(...equalRequestGaps(entry, this.limitUses));
    if (action === 'grant.created' && !state && this.hasGrants && this.agentIds.has(entry['audit'].agentId))
      this.erasedGrants += 1;
    if (action === 'grant.created' && this.history.entriesAbout('grant', subjectId).length > 0) this.#hasGrant = true;
    if (action === 'execution.authorized' && !state && this.#hasGrant) this.erasedUses += 1;
  }

  /**
   * Returns what the file says of an entry: it still has contents that were erased since.
   * @param {Json} entry of the log
   * @returns {Json}
   */
  ownOf(entry) {
    const own = this.entries.get(entry['sequence']);
    return own === undefined || isErased(own) ? entry : own;
  }

  /**
   * Adds what an hour between two versions of the time zones decides: such executions may have used limits of the file.
   * @param {readonly Json[]} entries of the log that authorised or denied executions
   */
  addUndecided(entries) {
    for (const entry of entries)
      for (const use of this.limitUses.filter((one) => mayCount(one, entry)))
        this.gaps.push({
          sequence: use['sequence'],
          difference: `the clock was read for ${entry['subjectId']} by time zones of another version, so whether it used its limits is not known`,
        });
  }

  /** Erased executions whose outcome may have been unknown when the same action was requested. */
  get erasedOutcomes() {
    return this.#unknownOutcomes.erased;
  }

  /** @param {Json} entry of the file, before it took place */
  #expectNewest(entry) {
    const { timestamp, audit, state } = entry;
    if (entry === this.history.makingEntry && isEmergencyProposal(entry))
      this.erasedEmergencies = this.#emergencies.erased;
    // This notes what was erased, and may have counted.
    this.#unknownOutcomes.faultsBefore(entry);
    const isGranted = audit.action === 'execution.authorized' && state.grantId !== undefined;
    if (isGranted || audit.action === 'execution.approval_requested')
      this.erasedRejections = Math.max(this.erasedRejections, this.#rejections.erasedAt(timestamp));
    this.#noteErasedFacts(entry);
  }

  /**
   * Counts what conditions may have looked for, and was erased since.
   * @param {Json} entry of the file
   */
  #noteErasedFacts({ timestamp, audit, state }) {
    const rules = earlierIn(audit.details)
      .slice(0, MAX_CONDITIONS)
      .flatMap(({ policyId, condition, executionId }) =>
        executionId === null ? (this.policies.get(policyId)?.conditions?.[condition] ?? []) : [],
      );
    for (const rule of rules) {
      const erased = this.#erasedAuthorizations.filter(
        ({ agentId, timestamp: time }) => agentId === state.agentId && isInTime(rule, time, timestamp),
      );
      this.erasedEarlier = Math.max(this.erasedEarlier, erased.length);
    }
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
