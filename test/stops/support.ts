import type { StopResponse } from '../../src/governance/stops/dto/stop.dto';
import type { TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';

export const STOPS = '/api/v1/stops';
export const ALLOWED = { resourceType: 'file', resourceId: 'files/1' };

/** Agents that may do everything, and people; each with a key of its own. */
export interface Company {
  readonly bot: Member;
  readonly other: Member;
  readonly ann: Member;
  readonly ben: Member;
}

interface Member {
  readonly id: string;
  readonly key: string;
}

export async function createCompany(app: TestApp): Promise<Company> {
  const createMember = async (name: string, agent: object, scopes: readonly string[]): Promise<Member> => {
    const { id } = await createAgent(app, { name, capabilities: ['*'], ...agent });
    return { id, key: (await issueKey(app, { agentId: id, scopes })).secret };
  };
  await createPolicy(app, { name: 'open' });
  const human = { kind: 'human' };
  return {
    bot: await createMember('bot', { roles: ['worker'] }, ['execute']),
    other: await createMember('other', { roles: ['clerk'] }, ['execute', 'review']),
    ann: await createMember('ann', human, ['review']),
    ben: await createMember('ben', human, ['review']),
  };
}

export async function stop(app: TestApp, body: object = {}, key?: string): Promise<StopResponse> {
  const answer = await stopping(app, body, key);
  if (answer.status !== 201) throw new Error(`POST ${STOPS} answered ${answer.status}: ${answer.text}`);
  return answer.body as StopResponse;
}

export function stopping(app: TestApp, body: object = {}, key?: string): Promise<Answer> {
  return send(app, 'POST', STOPS, { body: { reason: 'It runs wild.', ...body }, ...(key !== undefined && { key }) });
}

export function lift(app: TestApp, { id }: { readonly id: string }, key?: string): Promise<Answer> {
  const body = { reason: 'It is well again.' };
  return send(app, 'POST', `${STOPS}/${id}/lift`, { body, ...(key !== undefined && { key }) });
}

export async function liftAll(app: TestApp): Promise<void> {
  const { data } = (await send(app, 'GET', `${STOPS}?status=active&limit=1000`)).body;
  for (const active of data) await lift(app, active);
}

export function execute(
  app: TestApp,
  action = 'read',
  agent = 'bot',
  headers: Record<string, string> = {},
): Promise<Answer> {
  return send(app, 'POST', `/api/v1/agents/${agent}/execute`, { body: { action, ...ALLOWED }, headers });
}

/** `allowed`, or the reason of the refusal. */
export function verdictOf({ status, body }: Answer): string {
  return status === 200 ? 'allowed' : String(body.error?.reason ?? status);
}

export async function verdict(app: TestApp, action?: string, agent?: string): Promise<string> {
  return verdictOf(await execute(app, action, agent));
}
