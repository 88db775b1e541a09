import type { Agent } from '../agents/agent.entity';
import { labelFault } from '../shared/label-fault';
import type { AgentSubject } from './patterns/subject';

/** What policies need to know about an agent. */
export type PolicyAgent = Pick<Agent, 'id' | 'name' | 'kind' | 'roles'>;

/** The agent as policies see it: a role that is no longer valid is ignored. */
export function subjectOf({ id, name, kind, roles }: PolicyAgent): AgentSubject {
  return { agentId: id, agentName: name, kind, roles: roles.filter((role) => labelFault(role) === undefined) };
}
