import type { AgentKind } from '../../agents/agent-kind';

/** The agent that wants to act. The name is in Unicode normal form C, as agents are stored. */
export interface AgentSubject {
  readonly agentId: string;
  readonly agentName: string;
  readonly kind: AgentKind;
  readonly roles: readonly string[];
}

/** Somebody who is not an agent, such as a user of another system. Both texts are in Unicode normal form C. */
export interface OtherSubject {
  readonly type: string;
  readonly id: string;
  readonly roles: readonly string[];
}

export type EvaluationSubject = AgentSubject | OtherSubject;
