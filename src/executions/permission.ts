import { suspension } from '../agents/agent-reference';
import type { Agent } from '../agents/agent.entity';
import type { PolicyDefaultEffect } from '../config/configuration';
import { permissionDenied, policyDenied } from '../errors/domain-error';
import type { DomainError } from '../errors/domain-error';
import type { DecidingPolicy, Evaluation, EvaluationRequest } from '../policies/evaluation/evaluation-request';
import { withoutLeadingSlash } from '../policies/evaluation/resource-path';

/** What an agent asks to do. */
export type RequestedAction = Omit<EvaluationRequest, 'subject'>;

/** Whether it may, and the policies that decided. `refusal` is null when it may. */
export interface Permission {
  readonly refusal: DomainError | null;
  readonly policies: readonly DecidingPolicy[];
}

/** Decides on the agent first: one that is suspended, or lacks the capability, needs no policy to be refused. */
export function permissionFor(
  agent: Agent,
  requested: RequestedAction,
  evaluate: (request: EvaluationRequest) => Evaluation,
  defaultEffect: PolicyDefaultEffect,
): Permission {
  const unable = inability(agent, requested.action);
  if (unable !== null) return { refusal: unable, policies: [] };
  const subject = { agentId: agent.id, agentName: agent.name, roles: agent.roles };
  const { effect, policies } = evaluate({ subject, ...requested });
  const [first] = policies;
  if (first !== undefined) return { refusal: effect === 'allow' ? null : forbidden(agent, requested, first), policies };
  return { refusal: defaultEffect === 'allow' ? null : allowedByNone(agent, requested), policies };
}

function inability(agent: Agent, action: string): DomainError | null {
  return suspension(agent) ?? (agent.capabilities.includes(action) ? null : incapable(agent, action));
}

function incapable({ name }: Agent, action: string): DomainError {
  const message = `The agent "${name}" lacks the capability "${action}". It would have to be among its capabilities.`;
  return permissionDenied('capability_missing', message);
}

function forbidden(agent: Agent, { action, resourceId }: RequestedAction, policy: DecidingPolicy): DomainError {
  const { id, name, version } = policy;
  return policyDenied(
    { id, name, version },
    `The policy "${name}" (version ${version}) does not let the agent "${agent.name}" use the action "${action}" on "${resourceId}".`,
  );
}

function allowedByNone(agent: Agent, { action, resourceType, resourceId }: RequestedAction): DomainError {
  const subjects = [`agent:${agent.name}`, `agent:${agent.id}`, ...agent.roles.map((role) => `role:${role}`)];
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
