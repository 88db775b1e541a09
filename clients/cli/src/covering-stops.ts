import { overlap } from './action-patterns.js';
import type { Schemas } from '../../typescript/src/index.js';

/** Most stops that the service lets be active, and of one of its lists. */
export const MAX_STOPS = 1_000;

type Stop = Pick<Schemas['StopResponse'], 'agentId' | 'role' | 'actions'>;
type Agent = Pick<Schemas['AgentResponse'], 'id' | 'roles'>;

/**
 * True if a stop covers an action of an agent.
 * @param agent null if it is not known: any stop may then be about this agent
 */
export function isCovering({ agentId, role, actions }: Stop, agent: Agent | null, action: string): boolean {
  const isMeant =
    agent === null || ((agentId === null || agentId === agent.id) && (role === null || agent.roles.includes(role)));
  return isMeant && (actions.length === 0 || actions.some((pattern) => overlap(pattern, action)));
}
