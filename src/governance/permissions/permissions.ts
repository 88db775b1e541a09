import { isObserved, suspension } from '../agents/find-agent';
import type { Agent } from '../agents/agent.entity';
import { Configuration } from '../../core/config/configuration';
import type { PolicyDefaultEffect } from '../../core/config/variables/governance-variables';
import {
  type DomainError,
  invalidField,
  permissionDenied,
  policyDenied,
  requirePresent,
} from '../../core/errors/domain-error';
import type { NearAllows } from '../policies/evaluation/explanation';
import { listsFault, MAX_COMPARISONS_OF_QUESTION } from '../policies/evaluation/comparison-bounds';
import type { DecidingPolicy, Evaluation, EvaluationRequest, PolicyEffect } from '../policies/evaluation/evaluation';
import { type AgentSubject, type EvaluationSubject, subjectOf } from '../policies/patterns/subjects';
import { withoutLeadingSlash } from '../policies/patterns/resources';
import { isTooLarge, requirementFor } from '../policies/approval/approval-requirement';
import { matchesAction } from '../../core/values/action-pattern';
import { labelFault } from '../../core/values/label-fault';
import { Injectable } from '@nestjs/common';
import { decimalText } from '../../core/values/decimal';
import type { ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import type { RowQuery } from '../../ledger/records/row-query';
import { FactReader, gatherFacts, factDetails } from './facts';
import { type LimitUse, recordedUse } from '../policies/limits/limit';
import type { DecisionBasis, Execution } from '../executions/execution.entity';
import { actionHash } from '../executions/execution-rules';
import { ActivePolicies } from '../policies/active-policies';
import { ActiveStops } from '../stops/active-stops';
import { type Stop, stopCovering, type StopScope } from '../stops/stop.entity';
import { ActionGuards, type GuardRefusal } from './action-guards';
import type { Principal } from './principals';

/** Most reached limits that an error message describes: hundreds can be reached at once. */
const MAX_LIMITS_IN_MESSAGE = 10;

/** The action that an agent requests. */
export type RequestedAction = Omit<EvaluationRequest, 'subject' | 'principal' | 'at' | 'isReview' | 'actionHash'>;

/** Codes of the reasons for an effect other than a plain allow. */
export const ANSWER_REASONS = [
  'no_policy_allows',
  'policy_denied',
  'capability_missing',
  'agent_suspended',
  'principal_suspended',
  'stopped',
  'approval_required',
  'approval_too_large',
  'limit_reached',
  'extension_refused',
] as const;
export type PermissionReason = (typeof ANSWER_REASONS)[number];

/** The result of a check, and the policies that decided. */
export interface PermissionResult extends Evaluation {
  readonly effect: PolicyEffect;
  /** Reason; null for a plain allow. */
  readonly reason: PermissionReason | null;
  /** The stop that covers it; present if there is one. */
  readonly stopId?: string;
  /** The grant that makes an approval unnecessary; present if there is one. */
  readonly grantId?: string;
  /** Present if no policy allows it, and it is allowed because the agent is observed. */
  readonly observed?: true;
  /** Present if an extension refused what policies let through. */
  readonly refused?: GuardRefusal;
}

/** Everything other than the agent and its action that decides a check. */
interface DecidingRules {
  /** Evaluates the policies for the same request. */
  readonly evaluate: () => Evaluation;
  readonly defaultEffect: PolicyDefaultEffect;
  /** Active stops, the oldest first. */
  readonly stops: readonly Pick<Stop, 'id' | keyof StopScope>[];
  /** Absent if only policies decide, for example those of an earlier time. */
  readonly guards?: ActionGuards | undefined;
  /** Time for which it is decided. */
  readonly at: string;
}

/** The agent or subject that would act, as policies see it. */
export interface Somebody {
  /** Null if it is not registered. */
  readonly agent: Agent | null;
  readonly subject: EvaluationSubject;
}

/** Returns the request that policies evaluate. Lists its members: on Node.js 20, a copy with more of them is slow. */
export function requestOf(
  { action, resourceType, resourceId, parameters, run }: RequestedAction,
  subject: EvaluationSubject,
  principal: Principal | null,
  at: string,
): EvaluationRequest {
  const [agentId, onBehalfOf] = ['agentId' in subject ? subject.agentId : '', principal?.onBehalfOf ?? null];
  let computedHash: string | undefined;
  const hash = (): string =>
    (computedHash ??= actionHash({ agentId, action, resourceType, resourceId, parameters, onBehalfOf }));
  return {
    action,
    resourceType,
    resourceId,
    parameters,
    run,
    subject,
    principal: principal?.subject ?? null,
    at,
    actionHash: hash,
  };
}

/**
 * Checks the agent first: an agent that is suspended, is stopped, or lacks the capability is refused regardless of
 * policies; so is an agent that acts for a suspended person. For other subjects, only stops and policies count.
 */
export function checkPermission(
  { agent, subject }: Somebody,
  requested: RequestedAction,
  principal: Principal | null,
  rules: DecidingRules,
): PermissionResult {
  if (agent !== null && agent.status !== 'active') return refused('agent_suspended');
  const stoppable = agent === null ? { roles: subject.roles } : { agentId: agent.id, roles: agent.roles };
  const stop = stopCovering(rules.stops, stoppable, requested.action);
  if (stop !== undefined) return { ...refused('stopped'), stopId: stop.id };
  if (principal?.person?.status === 'suspended') return refused('principal_suspended');
  if (agent === null) return answerOfPolicies(principal, rules);
  if (!hasCapability(agent, requested.action)) return refused('capability_missing');
  const answer = observed(agent, answerOfPolicies(principal, rules), rules.at);
  const { effect: verdict, policies } = answer;
  if (verdict === 'deny' || rules.guards === undefined) return answer;
  const refusal = rules.guards.refusalOf(() => {
    const { action, resourceType, resourceId, parameters, run = null } = requested;
    const who = { agentId: agent.id, agentName: agent.name, onBehalfOf: principal?.onBehalfOf ?? null, run };
    return { ...who, action, resourceType, resourceId, parameters, verdict, policies };
  });
  return refusal === null
    ? answer
    : { ...refused('extension_refused'), refused: refusal, consultedFacts: answer.consultedFacts, zones: answer.zones };
}

/** Allows an observed agent an action that no policy allows. */
function observed(agent: Agent, answer: PermissionResult, at: string): PermissionResult {
  if (answer.reason !== 'no_policy_allows' || !isObserved(agent, at)) return answer;
  const { consultedFacts, zones } = answer;
  return {
    effect: 'allow',
    reason: null,
    policies: [],
    requirement: null,
    observed: true,
    consultedFacts,
    zones,
  };
}

function refused(reason: PermissionReason): PermissionResult {
  return { effect: 'deny', reason, policies: [], requirement: null };
}

function answerOfPolicies(principal: Principal | null, { evaluate, defaultEffect }: DecidingRules): PermissionResult {
  const { effect: verdict, policies, requirement, limitUses, reachedLimits, consultedFacts, zones } = evaluate();
  const answer = (effect: PolicyEffect, reason: PermissionReason | null): PermissionResult => {
    const personalRequirement =
      effect === 'require_approval' && requirement ? requirementFor(requirement, principal?.person?.id ?? null) : null;
    return {
      effect,
      reason,
      policies,
      requirement: personalRequirement,
      limitUses,
      reachedLimits,
      consultedFacts,
      zones,
    };
  };
  if (verdict === null && reachedLimits !== undefined) return answer('deny', 'limit_reached');
  if (verdict === null) return answer(defaultEffect, defaultEffect === 'allow' ? null : 'no_policy_allows');
  if (verdict === 'allow') return answer(verdict, null);
  if (verdict === 'deny') return answer(verdict, 'policy_denied');
  if (requirement !== null && isTooLarge(requirement)) return answer('deny', 'approval_too_large');
  return answer(verdict, 'approval_required');
}

/**
 * Returns the error for an agent that may not act, nor ask for approval; null for any other result.
 * @param nearAllows policies that would allow it if their conditions held, or on behalf of a principal; null if one
 * allows it
 */
export function refusalOf(
  { reason, policies, stopId, refused, reachedLimits = [] }: PermissionResult,
  agent: Agent,
  requested: RequestedAction,
  principal: Principal | null,
  nearAllows: NearAllows | null,
): DomainError | null {
  const { action, resourceId } = requested;
  switch (reason) {
    case null:
    case 'approval_required':
      return null;
    case 'agent_suspended':
      return suspension(agent);
    case 'principal_suspended':
      return permissionDenied(
        'principal_suspended',
        `The person "${String(principal?.person?.name)}", on whose behalf the agent acts, is suspended.`,
      );
    case 'stopped':
      return permissionDenied(
        'stopped',
        `Stopped by ${String(stopId)}. Nothing that the stop covers is authorised until it is lifted.`,
      );
    case 'capability_missing':
      return incapable(agent, action);
    case 'no_policy_allows':
      return allowedByNone(subjectOf(agent), requested, nearAllows);
    case 'approval_too_large':
      return permissionDenied(
        'approval_too_large',
        `The policies in force require more for "${action}" on "${resourceId}" than a decision can hold: at most 50 groups of ` +
          'approvers and 200 approvals.',
      );
    case 'limit_reached':
      return permissionDenied('limit_reached', `${reachedTexts(reachedLimits)} No other policy allows this.`);
    case 'extension_refused':
      return permissionDenied(
        'extension_refused',
        `The extension "${String(refused?.guard)}" refused this: ${String(refused?.sentence)}`,
      );
    case 'policy_denied': {
      const { id, name, version } = requirePresent(policies[0], 'policy that denies');
      return policyDenied(
        { id, name, version },
        `The policy "${name}" (version ${version}) does not let the agent "${agent.name}" use the action "${action}" on "${resourceId}".`,
      );
    }
  }
}

function reachedTexts(limited: readonly LimitUse[]): string {
  const more = limited.length - MAX_LIMITS_IN_MESSAGE;
  const texts = limited.slice(0, MAX_LIMITS_IN_MESSAGE).map(reachedText).join(' ');
  return more > 0 ? `${texts} So do ${more} more limits.` : texts;
}

function reachedText({ policy: { name, version }, limit, amount, before, max, resetsAt }: LimitUse): string {
  const which = `The limit [${limit}] of the policy "${name}" (version ${version})`;
  if (amount === null) return `${which} counts an amount, and the parameters have none that it can count.`;
  const [requested, used, most] = [amount, before, max].map(decimalText);
  return `${which} leaves no ${requested}: ${used} of ${most} are used until ${resetsAt}.`;
}

/** True if a valid capability of the agent matches the action. */
function hasCapability({ capabilities }: Agent, action: string): boolean {
  return capabilities.some((pattern) => matchesAction(pattern, action)) && labelFault(action) === undefined;
}

function incapable({ name }: Agent, action: string): DomainError {
  const fault = labelFault(action);
  const remedy = fault === undefined ? 'Add it to the capabilities of the agent.' : `A capability ${fault}.`;
  const message = `The agent "${name}" lacks the capability "${action}". ${remedy}`;
  return permissionDenied('capability_missing', message);
}

function nearText(policy: DecidingPolicy | null | undefined, verb: string): string {
  return policy ? ` The policy "${policy.name}" (version ${policy.version}) ${verb}` : '';
}

function allowedByNone(
  subject: AgentSubject,
  { action, resourceType, resourceId }: RequestedAction,
  nearAllows: NearAllows | null,
): DomainError {
  const near = [
    nearText(nearAllows?.conditions, 'would, but its conditions do not hold.'),
    nearText(nearAllows?.principal, 'may allow it on behalf of a principal: onBehalfOf is missing.'),
  ].join('');
  if (near !== '') return permissionDenied('no_policy_allows', `No policy in force allows this.${near}`);
  const { agentName, agentId, kind, roles } = subject;
  const names = [`agent:${agentName}`, `agent:${agentId}`, `kind:${kind}`, ...roles.map((role) => `role:${role}`), '*'];
  const subjects = names.map((name) => `"${name}"`).join(', ');
  const path = withoutLeadingSlash(resourceId);
  const resource = path.includes('/')
    ? `"${path}" of the type "${resourceType}", or "${resourceType}/${path}" with that type among its resourceTypes`
    : `"${path}" or "${resourceType}/${path}" of the type "${resourceType}"`;
  return permissionDenied(
    'no_policy_allows',
    `No policy in force allows this. A policy would have to allow one of the subjects ${subjects}, ` +
      `the action "${action}", and the resource ${resource}.`,
  );
}

/** Result of checking an action: it may proceed unless there is a refusal or a requirement. */
export interface Permission extends Pick<PermissionResult, 'requirement' | 'policies'> {
  /** Uses that the action takes from limits if it is authorised. */
  readonly used: readonly LimitUse[];
  readonly refusal: DomainError | null;
  readonly basis: DecisionBasis;
}

/**
 * Checks by the policies in force whether an agent may act. Runs inside a command, so that nothing changes before its
 * commit.
 */
@Injectable()
export class Permissions {
  constructor(
    private readonly policies: ActivePolicies,
    private readonly configuration: Configuration,
    private readonly guards: ActionGuards,
    private readonly stops: ActiveStops,
    private readonly facts: FactReader,
  ) {}

  /**
   * Checks an action, and counts the uses of limits up to now. If an execution that policies allowed is replayed, no
   * limit counts as reached.
   * @param replayed execution as it was first answered; it does not count as earlier than itself
   * @throws VALIDATION_ERROR if conditions would compare too many items of lists
   */
  async check(
    transaction: Pick<ServiceTransaction, 'now' | 'readSums' | 'runQueries'>,
    agent: Agent,
    requestedAction: RequestedAction,
    principal: Principal | null,
    replayed?: Pick<Execution, 'id' | 'policies'>,
  ): Promise<Permission> {
    const { inForce } = this.policies;
    const { now: at } = transaction;
    const question = requestOf(requestedAction, subjectOf(agent), principal, at);
    if (inForce.comparisons(question) > MAX_COMPARISONS_OF_QUESTION) throw invalidField('parameters', listsFault());
    const queries = inForce.factQueries(question);
    // An action that an approval or a grant authorised has taken nothing from limits.
    const limitsAside = replayed?.policies.every(({ effect }) => effect !== 'require_approval') ?? false;
    const exceptions = { excludedId: replayed?.id, limitsAside };
    const facts = await gatherFacts([queries], this.facts.within(transaction, exceptions));
    const { policyDefaultEffect: defaultEffect } = this.configuration;
    const evaluate = (): Evaluation => inForce.evaluate(question, facts, queries);
    const { active: stops } = this.stops;
    const rules = { evaluate, defaultEffect, at, guards: this.guards, stops };
    const answer = checkPermission({ agent, subject: question.subject }, question, principal, rules);
    const {
      requirement,
      policies,
      stopId,
      observed,
      limitUses = [],
      reachedLimits = [],
      consultedFacts = [],
      zones,
    } = answer;
    const nearAllows = answer.reason === 'no_policy_allows' ? inForce.allowingOtherwise(question) : null;
    const refusal = refusalOf(answer, agent, question, principal, nearAllows);
    const principalRevision = principal?.person?.revision;
    const basis = {
      policySet: inForce.policySet,
      rules: this.policies.rules,
      agentRevision: agent.revision,
      ...(principalRevision !== undefined && { principalRevision }),
      ...(stopId !== undefined && { stopId }),
      ...(observed && { observed }),
      ...(limitUses.length > 0 && { used: limitUses.map(recordedUse) }),
      ...(reachedLimits.length > 0 && { limited: reachedLimits.map(recordedUse) }),
      ...factDetails(consultedFacts, facts),
      ...(zones !== undefined && { zones }),
    };
    return { refusal, requirement, policies, basis, used: limitUses };
  }

  /** True if an active stop covers the agent's action. */
  isStopped({ id: agentId, roles }: Agent, { action }: Pick<RequestedAction, 'action'>): boolean {
    return stopCovering(this.stops.active, { agentId, roles }, action) !== undefined;
  }

  /** True if every permission depends on the agent, the request and the policies alone. */
  get needsNoFacts(): boolean {
    return this.policies.inForce.needsNoFacts;
  }

  /**
   * Returns the queries for a permission, except those for policies about principals, who are not looked up yet.
   * @param limitQueries queries for limits, in addition
   */
  rowQueries(
    agent: Agent,
    requestedAction: RequestedAction,
    at: string,
    limitQueries: () => readonly RowQuery[],
  ): RowQuery[] {
    const { inForce } = this.policies;
    const question = requestOf(requestedAction, subjectOf(agent), null, at);
    // A request that compares so much is refused unless the policies change first, so nothing is read in advance.
    if (inForce.comparisons(question) > MAX_COMPARISONS_OF_QUESTION) return [];
    const queries = inForce.factQueries(question);
    return [...this.facts.rowQueries(queries), ...(queries.uses.length > 0 ? limitQueries() : [])];
  }
}
