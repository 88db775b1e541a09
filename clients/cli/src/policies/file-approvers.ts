import type { Schemas } from '../../../typescript/src/index.js';

type Agent = Pick<Schemas['AgentResponse'], 'name' | 'kind' | 'roles'>;
export type ApproverGroup = NonNullable<NonNullable<Schemas['CreatePolicyRequest']['approval']>['approvers']>[number];

/** True if the agent fills the group of the subject, by the rules of groups: a machine has to be named. */
function isApprover({ name, kind, roles }: Agent, subject: string): boolean {
  if ([name, `agent:${name}`, `kind:${kind}`].includes(subject.normalize('NFC'))) return true;
  const isOfAll = ['*', 'agent:*', 'principal'].includes(subject) || (subject === 'role:*' && roles.length > 0);
  return kind === 'human' && (isOfAll || roles.some((role) => `role:${role}` === subject));
}

/** The most approvals that different agents can give, each for one group; nobody signs, as passkeys are not in files. */
export function possibleApprovals(groups: readonly ApproverGroup[], agents: readonly Agent[]): number {
  /** A slot for each approval of a group, with the agent that it is assigned to. */
  const slots = groups.flatMap((group) =>
    Array.from({ length: group.approvals ?? 1 }, () => ({ group, agent: null as Agent | null })),
  );
  const assign = (agent: Agent, visitedPlaces: Set<object>): boolean =>
    slots.some((slot) => {
      const { subjects, signed } = slot.group;
      if (visitedPlaces.has(slot) || signed === true || !subjects.some((subject) => isApprover(agent, subject)))
        return false;
      visitedPlaces.add(slot);
      if (slot.agent !== null && !assign(slot.agent, visitedPlaces)) return false;
      slot.agent = agent;
      return true;
    });
  return agents.filter((agent) => assign(agent, new Set())).length;
}
