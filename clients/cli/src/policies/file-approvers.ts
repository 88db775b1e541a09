import type { Schemas } from '../../../typescript/src/index.js';

type Agent = Pick<Schemas['AgentResponse'], 'name' | 'kind' | 'roles'>;
export type ApproverGroup = NonNullable<NonNullable<Schemas['CreatePolicyRequest']['approval']>['approvers']>[number];

/** True if the agent fills the group of the subject, by the rules of groups: a machine has to be named. */
function isApprover({ name, kind, roles }: Agent, subject: string): boolean {
  if ([name, `agent:${name}`, `kind:${kind}`].includes(subject.normalize('NFC'))) return true;
  const isOfAll = ['*', 'agent:*'].includes(subject) || (subject === 'role:*' && roles.length > 0);
  return kind === 'human' && (isOfAll || roles.some((role) => `role:${role}` === subject));
}

/**
 * Returns the most approvals that different agents can give, each for one group. All groups count as escalated, and any
 * person may be the principal. Nobody signs, because passkeys are not in files.
 */
export function possibleApprovals(groups: readonly ApproverGroup[], agents: readonly Agent[]): number {
  const principals = hasPrincipal(groups) ? agents.filter(({ kind }) => kind === 'human') : [];
  return Math.max(...[null, ...principals].map((principal) => approvalsWith(principal, groups, agents)));
}

/** True if the principal of a request may fill one of the groups. */
export function hasPrincipal(groups: readonly ApproverGroup[]): boolean {
  return groups.some((group) => escalatedSubjects(group).includes('principal'));
}

function approvalsWith(principal: Agent | null, groups: readonly ApproverGroup[], agents: readonly Agent[]): number {
  /** A slot for each approval of a group, with the agent that it is assigned to. */
  const slots = groups.flatMap((group) =>
    Array.from({ length: group.approvals ?? 1 }, () => ({ group, agent: null as Agent | null })),
  );
  const isFillable = (group: ApproverGroup, agent: Agent): boolean =>
    group.signed !== true &&
    escalatedSubjects(group).some((subject) =>
      subject === 'principal' ? agent === principal : isApprover(agent, subject),
    );
  const assign = (agent: Agent, visitedPlaces: Set<object>): boolean =>
    slots.some((slot) => {
      if (visitedPlaces.has(slot) || !isFillable(slot.group, agent)) return false;
      visitedPlaces.add(slot);
      if (slot.agent !== null && !assign(slot.agent, visitedPlaces)) return false;
      slot.agent = agent;
      return true;
    });
  return agents.filter((agent) => assign(agent, new Set())).length;
}

/** Returns the subjects of a group, and those of its escalation. */
function escalatedSubjects({ subjects, escalate }: ApproverGroup): string[] {
  return [...subjects, ...(escalate?.subjects ?? [])];
}
