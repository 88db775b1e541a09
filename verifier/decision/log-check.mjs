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

/** Maximum number of conditions for which erased executions are counted; no request may look up more facts. */
const MAX_CONDITIONS = 1_000;

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
  /** Number of claims about the entities of the file that neither the log nor the file shows any more. */
  erasedClaims = 0;
  /** Number of erased executions that may have used a grant of the file. */
  erasedUses = 0;
  /** Number of erased executions that a condition on earlier executions may have matched. */
  erasedEarlier = 0;
  /** Number of erased rejections that may still have been binding; the log no longer shows what they rejected. */
  erasedRejections = 0;
  /** Number of erased executions that a limit of the file may count; only their erasures state the uses. */
  erasedLimitUses = 0;
  /** Number of erased decisions before the emergency that the file is about. */
  erasedEmergencies = 0;
  /** True once the log has shown the creation of a grant of the file. */
  #hasGrant = false;
  /** Number of erased grants of the file's agents; the log no longer shows which decision gave each grant. */
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
   * @param {History} history history of the file, recomputed
   * @param {number} size number of entries in the file's checkpoint
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
    /** True if the file has a grant. */
    this.hasGrants = states('grant').length > 0;
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
    // The file still has contents that were erased from the log after the file was made.
    const state = isErased(entry) ? own?.['state'] : entry['state'];
    if (own !== undefined && own['hash'] !== hash) this.#differ(sequence, 'the log has another entry here');
    if (own !== undefined && !isErased(own)) this.#countErasedGrounds(own);
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

  /** Erased executions whose outcome may have been unknown when the same action was requested. */
  get erasedOutcomes() {
    return this.#unknownOutcomes.erased;
  }

  /**
   * Counts erased records on which a decision of the file may rest. Must run before the entry is added to the trackers
   * of this class.
   * @param {Json} entry entry of the file
   */
  #countErasedGrounds(entry) {
    const { timestamp, audit, state } = entry;
    if (entry === this.history.makingEntry && isEmergencyProposal(entry))
      this.erasedEmergencies = this.#emergencies.erased;
    // The call only counts erased executions here; the check of the log reports its faults.
    this.#unknownOutcomes.faultsBefore(entry);
    const isGranted = audit.action === 'execution.authorized' && state.grantId !== undefined;
    if (isGranted || audit.action === 'execution.approval_requested')
      this.erasedRejections = Math.max(this.erasedRejections, this.#rejections.erasedAt(timestamp));
    this.#noteErasedFacts(entry);
  }

  /**
   * Counts erased executions that conditions on earlier executions may have matched.
   * @param {Json} entry entry of the file
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
