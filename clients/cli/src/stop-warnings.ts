import { overlap } from './action-patterns.js';
import { meantText } from './similar-names.js';
import type { Schemas } from '../../typescript/src/index.js';

type Stop = Pick<Schemas['StopResponse'], 'agentId' | 'role' | 'actions'>;
type Agent = Pick<Schemas['AgentResponse'], 'id' | 'roles' | 'capabilities'>;

/**
 * Returns warnings of parts of a stop that cover nobody now, and are perhaps misspelt.
 * @param agents all that are registered
 */
export function stopWarnings({ agentId, role, actions }: Stop, agents: readonly Agent[]): string[] {
  const candidates = agents.filter(({ id }) => agentId === null || id === agentId);
  const coveredAgents = candidates.filter(({ roles }) => role === null || roles.includes(role));
  if (role !== null && coveredAgents.length === 0) {
    const roles = meantText(role, new Set(agents.flatMap((agent) => agent.roles)), 'role:');
    return [`${agentId === null ? 'No agent has' : `${agentId} has not`} the role ${role}.${roles}`];
  }
  const able = coveredAgents.flatMap(({ capabilities }) => capabilities);
  const capabilityNames = new Set(agents.flatMap(({ capabilities }) => capabilities));
  return actions
    .filter((action) => !able.some((capability) => overlap(capability, action)))
    .map((action) => `No agent that this stops is able to do ${action}.${meantText(action, capabilityNames)}`);
}
