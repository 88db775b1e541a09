import type { Agent, AgentStatus } from './agent.entity';

/** The members of an agent that an update can change. */
export interface AgentUpdate {
  readonly description?: string | undefined;
  readonly capabilities?: readonly string[] | undefined;
  readonly roles?: readonly string[] | undefined;
}

const CHANGEABLE = ['description', 'capabilities', 'roles'] as const;

export type ChangedField = (typeof CHANGEABLE)[number];

/** The fields an update really changes: those given with another value than they have. The order of a list counts. */
export function changedFields(agent: Agent, update: AgentUpdate): ChangedField[] {
  return CHANGEABLE.filter((field) => {
    const value = update[field];
    return value !== undefined && JSON.stringify(value) !== JSON.stringify(agent[field]);
  });
}

export function updated(agent: Agent, update: AgentUpdate, now: string): Agent {
  const { description = agent.description, capabilities = agent.capabilities, roles = agent.roles } = update;
  return { ...agent, description, capabilities, roles, ...nextRevision(agent, now) };
}

export function withStatus(agent: Agent, status: AgentStatus, now: string): Agent {
  return { ...agent, status, ...nextRevision(agent, now) };
}

function nextRevision({ revision }: Agent, now: string): Pick<Agent, 'updatedAt' | 'revision'> {
  return { updatedAt: now, revision: revision + 1 };
}
