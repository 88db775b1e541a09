export const AGENT_KINDS = ['machine', 'human'] as const;
export type AgentKind = (typeof AGENT_KINDS)[number];
