import type { AgentResponse } from '../../src/governance/agents/dto/agent.dto';
import type { ExecutionResponse } from '../../src/governance/executions/dto/execution.dto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { send, type Answer } from '../support/application/send';
import { stageOf } from '../support/application/stage';

export const EXECUTIONS = '/api/v1/executions';
export const DECISIONS = '/api/v1/decisions';
export const REFUND = {
  action: 'refund',
  resourceType: 'payment',
  resourceId: 'orders/4711',
  parameters: { amount: 80 },
};

type Members = Readonly<Record<string, unknown>>;

/** A bot that may refund with an approval, and the people who can give it. */
export interface Company {
  readonly bot: AgentResponse;
  readonly ann: AgentResponse;
  readonly ben: AgentResponse;
  readonly eve: AgentResponse;
}

/** Creates a bot, two people in finance and one in security. */
export async function company(app: TestApp, suffix = ''): Promise<Company> {
  const person = (name: string, role: string): Promise<AgentResponse> =>
    createAgent(app, { name: `${name}${suffix}`, kind: 'human', capabilities: ['review'], roles: [role] });
  return {
    bot: await createAgent(app, { name: `bot${suffix}`, capabilities: ['refund', 'send'], roles: ['billing'] }),
    ann: await person('ann', 'finance'),
    ben: await person('ben', 'finance'),
    eve: await person('eve', 'security'),
  };
}

/** A policy that allows refunds with the approval of somebody in finance, unless `approval` says otherwise. */
export async function requireApproval(
  app: TestApp,
  approval: Members = {},
  body: Members = {},
): Promise<{ id: string }> {
  return createPolicy(app, {
    effect: 'require_approval',
    actions: ['refund'],
    approval: { approvers: [{ subjects: ['role:finance'] }], ...approval },
    ...body,
  });
}

/** An application where refunds need an approval, and its people, for the tests of a file. */
export function approvalStage(): { readonly app: TestApp; readonly people: Company } {
  return stageOf(async () => {
    const app = await createTestApp({ environment: { MAX_PENDING_APPROVALS: '40' } });
    const people = await company(app);
    await requireApproval(app, { riskLevel: 'high', executeWithin: 'PT30M' });
    return { app, people };
  });
}

let orders = 0;

/** Each test has its own resource. */
export function order(): { readonly resourceId: string } {
  orders += 1;
  return { resourceId: `orders/${orders}` };
}

export function ask(app: TestApp, agent: { readonly name: string }, body: Members = {}, headers = {}): Promise<Answer> {
  return send(app, 'POST', `/api/v1/agents/${agent.name}/execute`, { body: { ...REFUND, ...body }, headers });
}

/** Asks, and returns the waiting execution. */
export async function pending(
  app: TestApp,
  agent: { readonly name: string },
  body: Members = {},
): Promise<ExecutionResponse> {
  const answer = await ask(app, agent, body);
  expect(answer.status).toBe(202);
  expect(answer.body.outcome).toBe('pending_approval');
  return answer.body;
}

export function approve(app: TestApp, decisionId: string | null, approver: { readonly id: string }): Promise<Answer> {
  return send(app, 'POST', `${DECISIONS}/${String(decisionId)}/approve`, { body: { approverId: approver.id } });
}

export function reject(
  app: TestApp,
  decisionId: string | null,
  approver?: { readonly id: string },
  comment?: string,
): Promise<Answer> {
  const body = {
    ...(approver !== undefined && { approverId: approver.id }),
    ...(comment !== undefined && { comment }),
  };
  return send(app, 'POST', `${DECISIONS}/${String(decisionId)}/reject`, { body });
}

export function resume(app: TestApp, id: string, headers = {}): Promise<Answer> {
  return send(app, 'POST', `${EXECUTIONS}/${id}/resume`, { headers });
}

export async function execution(app: TestApp, id: string): Promise<ExecutionResponse> {
  return (await send(app, 'GET', `${EXECUTIONS}/${id}`)).body;
}

/** Asks and has it approved: returns an execution that can be resumed. */
export async function approved(app: TestApp, { bot, ann }: Company, body: Members = {}): Promise<ExecutionResponse> {
  const request = await pending(app, bot, body);
  expect((await approve(app, request.decisionId, ann)).body.status).toBe('approved');
  return execution(app, request.id);
}
