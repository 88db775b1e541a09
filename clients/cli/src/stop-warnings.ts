import { overlap } from './action-patterns.js';
import { meantText } from './similar-names.js';
import type { Schemas } from '../../typescript/src/index.js';

type Stop = Pick<Schemas['StopResponse'], 'agentId' | 'role' | 'actions'>;
type Agent = Pick<Schemas['AgentResponse'], 'id' | 'roles' | 'capabilities'>;

/** What of a stop covers nobody now, and was perhaps misspelt. @param agents all that are registered */
export function stopWarnings({ agentId, role, actions }: Stop, agents: readonly Agent[]): string[] {
  const meant = agents.filter(({ id }) => agentId === null || id === agentId);
  const covered = meant.filter(({ roles }) => role === null || roles.includes(role));
  if (role !== null && covered.length === 0) {
    const roles = meantText(role, new Set(agents.flatMap((agent) => agent.roles)), 'role:');
    return [`${agentId === null ? 'No agent has' : `${agentId} has not`} the role ${role}.${roles}`];
  }
  const able = covered.flatMap(({ capabilities }) => capabilities);
  const known = new Set(agents.flatMap(({ capabilities }) => capabilities));
  return actions
    .filter((action) => !able.some((capability) => overlap(capability, action)))
    .map((action) => `No agent that this stops is able to do ${action}.${meantText(action, known)}`);
}
