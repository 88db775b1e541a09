import { suspension } from '../agents/find-agent';
import type { Agent } from '../agents/agent.entity';
import { Configuration } from '../../core/config/configuration';
import { type PolicyDefaultEffect } from '../../core/config/variables/governance-variables';
import { permissionDenied, policyDenied, type DomainError } from '../../core/errors/domain-error';
import type { DecidingPolicy, Evaluation, EvaluationRequest, PolicyEffect } from '../policies/evaluation/evaluation';
import { type AgentSubject, type EvaluationSubject, subjectOf } from '../policies/patterns/subjects';
import { withoutLeadingSlash } from '../policies/patterns/resources';
import { type ApprovalRequirement, isTooLarge } from '../policies/approval/approval-requirement';
import { matchesAction } from '../../core/values/action-pattern';
import { labelFault } from '../../core/values/label-fault';
import { Injectable } from '@nestjs/common';
import { ActivePolicies } from '../policies/active-policies';
import { ActionGuards, type GuardRefusal } from './action-guards';

/** What an agent asks to do. */
export type RequestedAction = Omit<EvaluationRequest, 'subject' | 'at' | 'isReview'>;

/** Why something is not simply allowed, for machines. */
export const ANSWER_REASONS = [
  'no_policy_allows',
  'policy_denied',
  'capability_missing',
  'agent_suspended',
  'approval_required',
  'approval_too_large',
  'extension_refused',
] as const;
export type AnswerReason = (typeof ANSWER_REASONS)[number];

/** Whether somebody may do something, and the policies that decided. */
export interface PermissionAnswer {
  readonly effect: PolicyEffect;
  /** Null if it is allowed. */
  readonly reason: AnswerReason | null;
  readonly policies: readonly DecidingPolicy[];
  /** What has to be approved first; null unless the effect is `require_approval`. */
  readonly requirement: ApprovalRequirement | null;
  /** Present if an extension refused what policies let through. */
  readonly refused?: GuardRefusal;
}

/** The rules by which it is decided. */
export interface DecidingRules {
  readonly evaluate: (request: EvaluationRequest) => Evaluation;
  readonly defaultEffect: PolicyDefaultEffect;
  /** Absent where policies alone are asked about, such as those of an earlier time. */
  readonly guards?: ActionGuards;
  /** The time for which it is decided. */
  readonly at: string;
}

/** Considers the agent first: one that is suspended, or lacks the capability, is refused whatever the policies say. */
export function answerForAgent(
  agent: Agent,
  requested: RequestedAction,
  rules: DecidingRules,
  subject = subjectOf(agent),
): PermissionAnswer {
  const unable = inability(agent, requested.action);
  if (unable !== null) return { effect: 'deny', reason: unable, policies: [], requirement: null };
  const answer = answerForSubject(subject, requested, rules);
  const { effect: verdict, policies } = answer;
  if (verdict === 'deny' || rules.guards === undefined) return answer;
  const { action, resourceType, resourceId, parameters } = requested;
  const asked = { agentId: agent.id, agentName: agent.name, action, resourceType, resourceId, parameters };
  const refused = rules.guards.refusalOf(() => ({ ...asked, verdict, policies }));
  if (refused === null) return answer;
  return { effect: 'deny', reason: 'extension_refused', policies: [], requirement: null, refused };
}

/** Considers only policies, for a subject about which nothing else is known. */
export function answerForSubject(
  subject: EvaluationSubject,
  { action, resourceType, resourceId, parameters }: RequestedAction,
  { evaluate, defaultEffect, at }: DecidingRules,
): PermissionAnswer {
  const { effect, policies, requirement } = evaluate({ subject, action, resourceType, resourceId, parameters, at });
  if (effect === null) {
    const reason = defaultEffect === 'allow' ? null : 'no_policy_allows';
    return { effect: defaultEffect, reason, policies, requirement: null };
  }
  if (effect === 'allow') return { effect, reason: null, policies, requirement: null };
  if (effect === 'deny') return { effect, reason: 'policy_denied', policies, requirement: null };
  if (requirement !== null && isTooLarge(requirement))
    return { effect: 'deny', reason: 'approval_too_large', policies, requirement: null };
  return { effect, reason: 'approval_required', policies, requirement };
}

/** The error for an agent that may not act, and may not ask for approval either; null for any other answer. */
export function refusalOf(
  { reason, policies, refused }: PermissionAnswer,
  agent: Agent,
  requested: RequestedAction,
): DomainError | null {
  switch (reason) {
    case null:
    case 'approval_required':
      return null;
    case 'agent_suspended':
      return suspension(agent);
    case 'capability_missing':
      return incapable(agent, requested.action);
    case 'no_policy_allows':
      return allowedByNone(subjectOf(agent), requested);
    case 'approval_too_large':
      return tooMuchToApprove(requested);
    case 'extension_refused':
      return permissionDenied(
        'extension_refused',
        `The extension "${String(refused?.guard)}" refused this: ${String(refused?.sentence)}`,
      );
    case 'policy_denied': {
      const [first] = policies;
      if (first === undefined) throw new Error('A denial by policies names none.');
      return forbidden(agent, requested, first);
    }
  }
}

function tooMuchToApprove({ action, resourceId }: RequestedAction): DomainError {
  return permissionDenied(
    'approval_too_large',
    `The policies in force require more for "${action}" on "${resourceId}" than a decision can hold: at most 50 groups of ` +
      'approvers and 200 approvals.',
  );
}

function inability(agent: Agent, action: string): 'agent_suspended' | 'capability_missing' | null {
  if (agent.status !== 'active') return 'agent_suspended';
  return hasCapability(agent, action) ? null : 'capability_missing';
}

/** A capability that is no longer valid is ignored. */
function hasCapability({ capabilities }: Agent, action: string): boolean {
  return capabilities.some((pattern) => matchesAction(pattern, action)) && labelFault(action) === undefined;
}

function incapable({ name }: Agent, action: string): DomainError {
  const fault = labelFault(action);
  const remedy = fault === undefined ? 'It would have to be among its capabilities.' : `A capability ${fault}.`;
  const message = `The agent "${name}" lacks the capability "${action}". ${remedy}`;
  return permissionDenied('capability_missing', message);
}

function forbidden(agent: Agent, { action, resourceId }: RequestedAction, policy: DecidingPolicy): DomainError {
  const { id, name, version } = policy;
  return policyDenied(
    { id, name, version },
    `The policy "${name}" (version ${version}) does not let the agent "${agent.name}" use the action "${action}" on "${resourceId}".`,
  );
}

function allowedByNone(subject: AgentSubject, { action, resourceType, resourceId }: RequestedAction): DomainError {
  const { agentName, agentId, kind, roles } = subject;
  const subjects = [`agent:${agentName}`, `agent:${agentId}`, `kind:${kind}`, ...roles.map((role) => `role:${role}`)];
  const path = withoutLeadingSlash(resourceId);
  const resource = path.includes('/')
    ? `"${path}" of the type "${resourceType}", or "${resourceType}/${path}" with that type among its resourceTypes`
    : `"${path}" or "${resourceType}/${path}" of the type "${resourceType}"`;
  return permissionDenied(
    'no_policy_allows',
    `No policy in force allows this. One would have to allow one of the subjects ${quotedList([...subjects, '*'])}, ` +
      `the action "${action}", and the resource ${resource}.`,
  );
}

function quotedList(texts: readonly string[]): string {
  return texts.map((text) => `"${text}"`).join(', ');
}

/** Whether an agent may act. It may if there is neither a refusal nor a requirement. */
export interface Permission extends Pick<PermissionAnswer, 'requirement' | 'policies'> {
  readonly refusal: DomainError | null;
  /** The set of policies that decided. */
  readonly policySet: string;
}

/**
 * Whether an agent may act, according to the policies in force. Asked inside a command, so that nothing changes before
 * its commit.
 */
@Injectable()
export class Permissions {
  constructor(
    private readonly policies: ActivePolicies,
    private readonly configuration: Configuration,
    private readonly guards: ActionGuards,
  ) {}

  /** @param at the time of its entry. */
  of(agent: Agent, requested: RequestedAction, at: string): Permission {
    const { policyDefaultEffect: defaultEffect } = this.configuration;
    const { inForce } = this.policies;
    const evaluate = inForce.evaluate.bind(inForce);
    const answer = answerForAgent(agent, requested, { evaluate, defaultEffect, at, guards: this.guards });
    const { requirement, policies } = answer;
    const refusal = refusalOf(answer, agent, requested);
    return { refusal, requirement, policies, policySet: inForce.policySet };
  }
}
