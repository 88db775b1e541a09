import type { Agent } from '../agents/agent.entity';
import { labelFault } from '../text/label-fault';
import type { EvaluationSubject } from './evaluation/evaluation-request';

/** The agent as policies see it: a role that no agent can have any more is none. */
export function subjectOf({ id, name, roles }: Agent): EvaluationSubject {
  return { agentId: id, agentName: name, roles: roles.filter((role) => labelFault(role) === undefined) };
}
