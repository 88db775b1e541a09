import { suspension } from '../agents/agent-reference';
import type { Agent } from '../agents/agent.entity';
import type { PolicyDefaultEffect } from '../config/configuration';
import { permissionDenied, policyDenied } from '../errors/domain-error';
import type { DomainError } from '../errors/domain-error';
import type {
  DecidingPolicy,
  Evaluation,
  EvaluationRequest,
  EvaluationSubject,
} from '../policies/evaluation/evaluation-request';
import { withoutLeadingSlash } from '../policies/evaluation/resource-path';
import { subjectOf } from '../policies/subject-of';
import { labelFault } from '../text/label-fault';

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
  const subject = subjectOf(agent);
  const { effect, policies } = evaluate({ subject, ...requested });
  const [first] = policies;
  if (first !== undefined) return { refusal: effect === 'allow' ? null : forbidden(agent, requested, first), policies };
  return { refusal: defaultEffect === 'allow' ? null : allowedByNone(subject, requested), policies };
}

function inability(agent: Agent, action: string): DomainError | null {
  return suspension(agent) ?? (hasCapability(agent, action) ? null : incapable(agent, action));
}

/** One that no agent can have any more is none. */
function hasCapability({ capabilities }: Agent, action: string): boolean {
  return capabilities.includes(action) && labelFault(action) === undefined;
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

function allowedByNone(subject: EvaluationSubject, { action, resourceType, resourceId }: RequestedAction): DomainError {
  const { agentName, agentId, roles } = subject;
  const subjects = [`agent:${agentName}`, `agent:${agentId}`, ...roles.map((role) => `role:${role}`)];
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
