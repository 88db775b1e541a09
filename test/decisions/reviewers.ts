import type { AgentResponse } from '../../src/governance/agents/dto/agent.dto';
import type { DecisionResponse } from '../../src/governance/decisions/dto/decision.response';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent } from '../support/application/factories';
import { send, type Answer } from '../support/application/send';
import { stageOf } from '../support/application/stage';

export const DECISIONS = '/api/v1/decisions';

/** An application with agents that propose and review. */
export interface Reviewers {
  readonly app: TestApp;
  readonly proposer: AgentResponse;
  readonly approver: AgentResponse;
  readonly second: AgentResponse;
  readonly suspended: AgentResponse;
}

/** Decisions of medium risk need two approvals, those of high risk three. */
export async function startWithReviewers(): Promise<Reviewers> {
  const app = await createTestApp({ environment: { REQUIRED_APPROVALS: 'medium=2,high=3' } });
  const suspended = await createAgent(app, { name: 'suspended' });
  await send(app, 'POST', `/api/v1/agents/${suspended.id}/suspend`);
  return {
    app,
    proposer: await createAgent(app, { name: 'proposer' }),
    approver: await createAgent(app, { name: 'approver', roles: ['reviewer'] }),
    second: await createAgent(app, { name: 'second approver' }),
    suspended,
  };
}

export function review(app: TestApp, id: string, verdict: string, body?: object): Promise<Answer> {
  return send(app, 'POST', `${DECISIONS}/${id}/${verdict}`, { body });
}

interface ReviewStage {
  readonly stage: Reviewers;
  reviewed(this: void, id: string, verdict: string, body?: object): Promise<Answer>;
  approve(this: void, id: string, approverId: string): Promise<Answer>;
  read(this: void, id: string): Promise<DecisionResponse>;
}

/** An application with reviewers for the tests of a file, and what these do with its decisions. */
export function reviewStage(): ReviewStage {
  const stage = stageOf(startWithReviewers);
  return {
    stage,
    reviewed: (id, verdict, body) => review(stage.app, id, verdict, body),
    approve: (id, approverId) => review(stage.app, id, 'approve', { approverId }),
    read: async (id) => (await send(stage.app, 'GET', `${DECISIONS}/${id}`)).body,
  };
}
