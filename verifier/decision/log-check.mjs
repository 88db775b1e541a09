import { canonicalJson } from '../canonical-json.mjs';
import { isErased } from '../entry-check.mjs';
import { entityIn } from '../evaluation/resources.mjs';
import { ACCESS_DENIED } from '../record-actions.mjs';
import { BindingRejections } from './binding-rejections.mjs';
import { isEmergencyProposal } from './changes.mjs';
import { AUTHORISING } from './history.mjs';
import { claimsIn, earlierIn, isClaimOf, isEarlier, isInTime, isTooMuchClaimed, reachText } from './facts.mjs';
import { LimitedExecutions } from './limited-executions.mjs';
import { equalRequestGaps, limitUsesIn, mayCount } from './limit-window.mjs';
import { withAnyForm } from './malformed.mjs';
import { OpenEmergencies } from './open-emergencies.mjs';
import { UnknownOutcomes } from './unknown-outcomes.mjs';

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
  /** What the log does not show of what the decision rests on. @type {Difference[]} */
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
  /**
   * The entries so far that authorized something in the runs, or for the agents where policies look back.
   * @type {Json[]}
   */
  #authorizations = [];
  /** Authorizations of the agents whose contents were erased. @type {Json[]} */
  #erasedAuthorizations = [];
  /** The claims of the entities so far. @type {Map<string, Json>} */
  #claims = new Map();
  /** The entities that exist so far. @type {Set<string>} */
  #entityIds = new Set();
  /** The entities that have claims which neither the log nor the file shows any more. @type {Set<string>} */
  #erasedOf = new Set();
  /** @type {BindingRejections} */
  #rejections;
  #emergencies = new OpenEmergencies();
  /** @type {LimitedExecutions} */
  #limitedExecutions;
  /** @type {UnknownOutcomes} */
  #unknownOutcomes;

  /**
   * @param {DecisionFile} file
   * @param {History} history of it, recomputed
   * @param {number} size of its checkpoint
   * @param {ReadonlySet<number>} differing sequences of its entries whose facts differ already
   */
  constructor(file, history, size, differing) {
    this.size = size;
    this.differing = differing;
    this.history = history;
    const states = (/** @type {string} */ kind) =>
      file.entries.flatMap(({ subjectType, state }) => (subjectType === kind && state !== null ? [state] : []));
    const executions = states('execution');
    this.targets = new Set(executions.flatMap(({ resourceId }) => entityIn(String(resourceId)) ?? []));
    this.runs = new Set(executions.flatMap(({ run }) => run ?? []));
    this.agentIds = new Set(executions.map(({ agentId }) => agentId));
    this.#rejections = new BindingRejections(this.agentIds);
    this.#unknownOutcomes = new UnknownOutcomes(this.agentIds);
    this.limitUses = limitUsesIn(file.entries);
    this.hasGrants = states('grant').length > 0;
    this.entries = new Map(file.entries.map((entry) => [entry['sequence'], entry]));
    this.policies = new Map(file.policies.map((policy) => [policy.id, policy]));
    this.#limitedExecutions = new LimitedExecutions(
      this.limitUses,
      states('grant'),
      /** @type {any} */ (this.policies),
    );
    this.looksBack = file.policies.some(({ conditions = [] }) => conditions.some(({ within }) => Boolean(within)));
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
    const { state } = this.withContents(entry);
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
    if (AUTHORISING.includes(action) && state && this.#mayBeEarlier(state))
      this.#authorizations.push({
        subjectId,
        timestamp: entry['timestamp'],
        state: { ...state, parameters: null, result: null },
      });
    if (AUTHORISING.includes(action) && !state && this.agentIds.has(entry['audit'].agentId))
      this.#erasedAuthorizations.push({ agentId: entry['audit'].agentId, timestamp: entry['timestamp'] });
    if (action === 'claim.added' && isErased(entry) && !own && this.targets.has(entry['audit'].entityId)) {
      this.erasedClaims += 1;
      this.#erasedOf.add(entry['audit'].entityId);
    }
    if (action === 'claim.added' && this.targets.has(state?.entityId)) this.#claims.set(subjectId, state);
    if (action === 'claim.removed') this.#claims.delete(subjectId);
    if (action === 'entity.created' && this.targets.has(subjectId)) this.#entityIds.add(subjectId);
    if (action === 'entity.deleted') this.#forgetEntity(subjectId);
    if (subjectType === 'policy' && state) this.#notePolicy(sequence, state);
    this.#rejections.add(entry, state);
    this.#unknownOutcomes.add(entry, state);
    this.#emergencies.add(entry, state);
    if (AUTHORISING.includes(action) && !state && this.limitUses.some((use) => mayCount(use, entry)))
      this.erasedLimitUses += 1;
    if (AUTHORISING.includes(action) && state) {
      this.gaps.push(...equalRequestGaps(entry, this.limitUses));
      const limited = this.#limitedExecutions.check(entry, state);
      for (const fault of limited.faults) this.#differ(sequence, fault);
      this.gaps.push(...limited.gaps);
    } else this.#limitedExecutions.note(entry, state);
    if (action === 'grant.created' && !state && this.hasGrants && this.agentIds.has(entry['audit'].agentId))
      this.erasedGrants += 1;
    if (action === 'grant.created' && this.history.entriesAbout('grant', subjectId).length > 0) this.#hasGrant = true;
    if (action === 'execution.authorized' && !state && this.#hasGrant) this.erasedUses += 1;
  }

  /**
   * Returns an entry with its contents, which the file still has if they were erased since.
   * @param {Json} entry of the log
   * @returns {Json}
   */
  withContents(entry) {
    const own = isErased(entry) ? this.entries.get(entry['sequence']) : undefined;
    return own !== undefined && own['hash'] === entry['hash'] ? own : entry;
  }

  /** Executions for which only their own entries state the facts of conditions of policies with limits of the file. */
  get unknownFacts() {
    return this.#limitedExecutions.unknownFacts;
  }

  /** Erased executions whose outcome may have been unknown when the same action was requested. */
  get erasedOutcomes() {
    return this.#unknownOutcomes.erased;
  }

  /**
   * Forgets the claims of an entity that was deleted. The loss of contents alone deletes nothing.
   * @param {string} entityId
   */
  #forgetEntity(entityId) {
    this.#entityIds.delete(entityId);
    for (const [id, claim] of this.#claims) if (claim['entityId'] === entityId) this.#claims.delete(id);
  }

  /** @param {Json} entry of the file, before it took place */
  #expectNewest(entry) {
    const { sequence, timestamp, audit, state } = entry;
    if (entry === this.history.makingEntry && isEmergencyProposal(entry))
      this.erasedEmergencies = this.#emergencies.erased;
    // This notes what was erased, and may have counted.
    this.#unknownOutcomes.faultsBefore(entry);
    const isGranted = audit.action === 'execution.authorized' && state.grantId !== undefined;
    if (isGranted || audit.action === 'execution.approval_requested')
      this.erasedRejections = Math.max(this.erasedRejections, this.#rejections.erasedAt(timestamp));
    // An entry whose facts differ already may name any number of them, so they are not compared one by one.
    if (!this.differing.has(sequence)) this.#expectAllFacts({ sequence, timestamp, audit, state });
  }

  /** @param {Json} state of an execution */
  #mayBeEarlier(state) {
    return this.runs.has(state['run']) || (this.looksBack && this.agentIds.has(state['agentId']));
  }

  /** @param {Json} entry of the file, before it took place */
  #expectAllFacts({ sequence, timestamp, audit, state }) {
    for (const { policyId, condition, executionId } of earlierIn(audit.details)) {
      const rule = this.policies.get(policyId)?.conditions?.[condition];
      if (executionId !== null || rule === undefined) continue;
      const earlier = this.#authorizations.find(
        (authorization) =>
          authorization['subjectId'] !== state.id && isEarlier(rule, authorization, { state, timestamp }),
      );
      if (earlier !== undefined)
        this.#differ(sequence, `${earlier['subjectId']} had been authorized before ${reachText(rule)}`);
      const erasedAuthorizations = this.#erasedAuthorizations.filter(
        (authorization) =>
          authorization['agentId'] === state.agentId && isInTime(rule, authorization['timestamp'], timestamp),
      );
      this.erasedEarlier = Math.max(this.erasedEarlier, erasedAuthorizations.length);
    }
    for (const { policyId, condition, entityId, ids } of claimsIn(audit.details)) {
      const rule = this.policies.get(policyId)?.conditions?.[condition];
      if (rule !== undefined) this.#expectAllClaims({ sequence, entityId, ids }, rule);
    }
  }

  /**
   * Checks that the file has every claim about an entity. None counts if the entity does not exist, or has too many
   * claims.
   * @param {{ sequence: number, entityId: string, ids: readonly string[] | null }} looked
   * @param {import('../evaluation/conditions.mjs').Condition} rule
   */
  #expectAllClaims({ sequence, entityId, ids }, rule) {
    const all = [...this.#claims].filter(([, claim]) => isClaimOf(rule, claim, entityId));
    const isKnown = this.#entityIds.has(entityId) && !isTooMuchClaimed(all.map(([, claim]) => claim));
    const had = `${entityId} ${this.#entityIds.has(entityId) ? `had ${all.length} such claims` : 'did not exist'}`;
    if (ids === null) {
      if (isKnown && !this.#erasedOf.has(entityId)) this.#differ(sequence, `${had}, and none was said to be known`);
    } else if (!isKnown) this.#differ(sequence, `${had}, so nothing was known, and ${ids.length} were looked at`);
    else if (canonicalJson([...ids].sort()) !== canonicalJson(all.map(([id]) => id).sort()))
      this.#differ(sequence, `${had}, and ${ids.length} were looked at`);
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
