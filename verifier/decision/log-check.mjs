import { canonicalJson } from '../canonical-json.mjs';
import { isErased } from '../entry-check.mjs';
import { entityIn } from '../evaluation/resources.mjs';
import { isStopping } from '../evaluation/stops.mjs';
import { ACCESS_DENIED } from '../record-actions.mjs';
import { BindingRejections } from './binding-rejections.mjs';
import { ChangeLog } from './change-log.mjs';
import { AUTHORISING } from './history.mjs';
import { ConstantMembers } from './constant-members.mjs';
import { ExecutionLog } from './execution-log.mjs';
import { claimsIn, earlierIn, isClaimOf, isEarlier, isInTime, isTooMuchClaimed, reachText } from './facts.mjs';
import { delegateFaults } from './delegations.mjs';
import { LimitedExecutions } from './limited-executions.mjs';
import { equalRequestGaps, limitUsesIn, mayCount } from './limit-window.mjs';
import { withAnyForm } from './malformed.mjs';
import { OpenRequests } from './open-requests.mjs';
import { PasskeyRegistry } from './passkey-registry.mjs';
import { asAgent } from './reviewer.mjs';
import { personOf } from './acts.mjs';
import { KeyRegistry } from './key-registry.mjs';
import { NewestEvaluation } from './newest-evaluation.mjs';
import { senderFaults } from './senders.mjs';
import { UnknownOutcomes } from './unknown-outcomes.mjs';

/**
 * Compares a decision file with all entries of the log, which are added one after another, to find what no file shows
 * by itself.
 *
 * @typedef {import('./read-file.mjs').Json} Json
 * @typedef {import('./read-file.mjs').DecisionFile} DecisionFile
 * @typedef {import('./history.mjs').History} History
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
  /** Erased grants of the agents; the log no longer shows which decision gave each. */
  erasedGrants = 0;
  /** Policies in force so far. @type {Set<string>} */
  #inForce = new Set();
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
  /** Stops that are active so far. @type {Map<string, Json>} */
  #stops = new Map();
  #passkeys = new PasskeyRegistry();
  /** The last state of each agent that the decision names. @type {Map<string, Json>} */
  #agents = new Map();
  /**
   * The grants on which the decision rests, each with what was used of it so far.
   * @type {Map<string, { uses: number | null, used: number }>}
   */
  #grants = new Map();
  /** The ids of agents that are suspended. @type {Set<string>} */
  #suspendedIds = new Set();
  /** @type {BindingRejections} */
  #rejections;
  /** @type {ChangeLog} */
  #changes;
  /** @type {LimitedExecutions} */
  #limitedExecutions;
  /** @type {UnknownOutcomes} */
  #unknownOutcomes;
  #keys = new KeyRegistry();
  /** Checks of every record of the log, whether or not it is in the file. */
  #allRecords;

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
    this.#changes = new ChangeLog(history);
    const evaluation = new NewestEvaluation(file.rules);
    this.#allRecords = [new ConstantMembers(), new ExecutionLog(), new OpenRequests(), evaluation];
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
    this.rules = new Map(file.rules.map((rules) => [rules.hash, rules]));
    this.requestedAgents = history.requestedAgents;
    this.passkeys = history.requestedPasskeys;
    this.names = new Set([
      ...this.requestedAgents.map(({ id }) => id),
      ...states('decision').map(({ proposedBy }) => proposedBy),
      ...states('delegation').flatMap(({ agentId, to }) => [agentId, to]),
      ...file.entries.filter((entry) => !isErased(entry)).map(personOf),
      ...history.madeEntries.map(({ subjectId }) => subjectId),
    ]);
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
    const otherFaults = own === undefined ? this.#changes.faultsOfOther(entry, sequence <= this.size) : [];
    const faults = this.#allRecords.flatMap((check) => check.faults(entry, state));
    for (const fault of [...otherFaults, ...faults]) this.#differ(sequence, fault);
    if (
      own === undefined &&
      this.history.isReached(entry) &&
      this.history.entriesAbout(subjectType, subjectId).length > 0
    ) {
      if (sequence <= this.size) this.#differ(sequence, `the file lacks this entry, ${action}`);
      else this.later.push({ sequence, action });
    }
    if (subjectType === 'agent' && this.names.has(subjectId) && state) this.#agents.set(subjectId, state);
    if (subjectType === 'agent' && state?.status === 'suspended') this.#suspendedIds.add(subjectId);
    else if (subjectType === 'agent') this.#suspendedIds.delete(subjectId);
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
    if (subjectType === 'passkey') this.#passkeys.add(action, subjectId, state);
    if (subjectType === 'policy' && state) this.#notePolicy(sequence, state);
    if (subjectType === 'stop' && state?.status === 'active') this.#stops.set(subjectId, state);
    else if (subjectType === 'stop') this.#stops.delete(subjectId);
    this.#keys.add(entry, state);
    this.#rejections.add(entry, state);
    this.#unknownOutcomes.add(entry, state);
    this.#changes.add(entry, state);
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
    if (subjectType === 'grant' && state) this.#noteGrant(entry, state);
    if (action === 'execution.authorized') this.#noteUse(sequence, state);
  }

  /** Executions for which only their own entries state the facts of conditions of policies with limits of the file. */
  get unknownFacts() {
    return this.#limitedExecutions.unknownFacts;
  }

  /** Erased executions whose outcome may have been unknown when the same action was requested. */
  get erasedOutcomes() {
    return this.#unknownOutcomes.erased;
  }

  /** Erased decisions that may have been about open emergencies. */
  get erasedEmergencies() {
    return this.#changes.erasedEmergencies;
  }

  /**
   * Forgets the claims of an entity that was deleted. The loss of contents alone deletes nothing.
   * @param {string} entityId
   */
  #forgetEntity(entityId) {
    this.#entityIds.delete(entityId);
    for (const [id, claim] of this.#claims) if (claim['entityId'] === entityId) this.#claims.delete(id);
  }

  /**
   * Notes a grant of the file, and checks that one that is recorded as used up has been used.
   * @param {Json} entry
   * @param {Json} state
   */
  #noteGrant({ sequence, action, subjectId }, { uses }) {
    const grant = this.#grants.get(subjectId);
    if (action === 'grant.created') {
      if (this.history.entriesAbout('grant', subjectId).length > 0) this.#grants.set(subjectId, { uses, used: 0 });
    } else if (action === 'grant.used_up' && grant !== undefined && grant.used !== uses && this.erasedUses === 0)
      this.#differ(sequence, `the grant ${subjectId} was used ${grant.used} times, of ${uses}`);
  }

  /**
   * @param {number} sequence
   * @param {Json | null | undefined} execution nothing if it was erased
   */
  #noteUse(sequence, execution) {
    if (!execution && this.#grants.size > 0) this.erasedUses += 1;
    const grant = this.#grants.get(execution?.['grantId']);
    if (grant === undefined) return;
    if (grant.uses !== null && grant.used >= grant.uses)
      this.#differ(
        sequence,
        `the grant ${execution?.['grantId']} was used ${grant.used} times before, of ${grant.uses}`,
      );
    grant.used += 1;
  }

  /** @param {Json} entry of the file, before it took place */
  #expectNewest(entry) {
    const { sequence, timestamp, audit, state } = entry;
    const log = { keys: this.#keys, inForce: this.#inForce, agents: this.#agents };
    for (const fault of [...this.#changes.faultsBefore(entry, log), ...this.#unknownOutcomes.faultsBefore(entry)])
      this.#differ(sequence, fault);
    for (const { id, revision } of this.requestedAgents.filter(({ before }) => before === sequence)) {
      const newest = this.#agents.get(id)?.['revision'];
      if (newest !== revision)
        this.#differ(sequence, `the agent ${id} was at revision ${newest}, not ${String(revision)}`);
    }
    for (const { id, reviewerId } of this.passkeys.filter(({ before }) => before === sequence)) {
      const fault = this.#passkeys.faultOf(id, reviewerId);
      if (fault !== undefined) this.#differ(sequence, fault);
    }
    const rules = this.rules.get(audit.details.rules);
    if (rules !== undefined && canonicalJson([...rules.policies].sort()) !== canonicalJson([...this.#inForce].sort()))
      this.#differ(
        sequence,
        `other policies were in force: the log has ${this.#inForce.size}, the file ${rules.policies.length}`,
      );
    this.#expectNotStopped({ sequence, audit, state });
    this.#expectNotRejected({ sequence, audit, state, timestamp });
    const before = {
      keys: this.#keys,
      agents: this.#agents,
      suspendedIds: this.#suspendedIds,
      history: this.history,
    };
    for (const fault of [...senderFaults(entry, before), ...delegateFaults(entry, this.#agents)])
      this.#differ(sequence, fault);
    // An entry whose facts differ already may name any number of them, so they are not compared one by one.
    if (!this.differing.has(sequence)) this.#expectAllFacts({ sequence, timestamp, audit, state });
    const proposer = this.#agents.get(state?.proposedBy);
    const isApproved = audit.details.verdict === 'approve' && audit.action !== 'decision.approval_denied';
    if (isApproved && proposer?.['status'] === 'suspended')
      this.#differ(sequence, 'it was approved while the agent that requested it was suspended');
    // A rejection gives a grant, too, for other parameters: only if the reviewer could have approved.
    if (audit.action === 'grant.created' && this.#agents.get(state?.agentId)?.['status'] === 'suspended')
      this.#differ(sequence, 'the grant was made while the agent that requested it was suspended');
  }

  /** @param {Json} state of an execution */
  #mayBeEarlier(state) {
    return this.runs.has(state['run']) || (this.looksBack && this.agentIds.has(state['agentId']));
  }

  /** @param {Json} entry of the file, before it took place */
  #expectNotStopped({ sequence, audit, state }) {
    const agent = this.#agents.get(state?.agentId);
    if (agent === undefined || audit.details.agentRevision === undefined) return;
    const coveringStops = [...this.#stops.values()].filter((stop) => isStopping(stop, asAgent(agent), state.action));
    const isRefused = ['stopped', 'agent_suspended'].includes(audit.reason);
    if (coveringStops.length > 0 && !isRefused)
      this.#differ(sequence, `the stop ${coveringStops[0]?.['id']} covered it, and it was not refused`);
    if (audit.details.stopId !== undefined && !this.#stops.has(audit.details.stopId))
      this.#differ(sequence, `the stop ${audit.details.stopId} was not active`);
  }

  /**
   * Checks that a rejected action was neither requested again nor granted while the rejection held, whoever has to
   * approve it by then.
   * @param {Json} entry of the file, before it took place
   */
  #expectNotRejected({ sequence, audit, state, timestamp }) {
    const isGranted = audit.action === 'execution.authorized' && state.grantId !== undefined;
    if (!isGranted && audit.action !== 'execution.approval_requested') return;
    const grant = isGranted ? this.history.entriesAbout('grant', state.grantId)[0]?.['state'] : undefined;
    const isWide = grant !== undefined && (grant['resources'] !== null || grant['parametersHash'] === null);
    const exact = this.#rejections.findExact(state, timestamp);
    const otherSpelling = isWide ? this.#rejections.findAnySpelling(state, timestamp) : undefined;
    if (exact !== undefined) this.#differ(sequence, `the rejection of the same action by ${exact} held`);
    else if (otherSpelling !== undefined)
      this.#differ(sequence, `the rejection by ${otherSpelling} held, which keeps out every spelling of the resource`);
    this.erasedRejections = Math.max(this.erasedRejections, this.#rejections.erasedAt(timestamp));
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
  #notePolicy(sequence, { status, warnings: _warnings, createdAt: _createdAt, ...content }) {
    const { id } = content;
    if (status === 'active') this.#inForce.add(id);
    else this.#inForce.delete(id);
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
