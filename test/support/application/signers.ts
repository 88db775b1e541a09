import type { AgentResponse } from '../../../src/governance/agents/dto/agent.dto';
import type { DecisionResponse } from '../../../src/governance/decisions/dto/decision.response';
import { type Faults, SoftwareAuthenticator } from './authenticator';
import type { TestApp } from './create-test-app';
import { createAgent, issueKey } from './factories';
import { type Answer, send } from './send';

type ServedApp = Pick<TestApp, 'url'>;

/** A person with a key of their own, and a device that has a passkey of theirs. */
export interface Signer {
  readonly agent: AgentResponse;
  readonly key: string;
  readonly device: SoftwareAuthenticator;
  readonly passkeyId: string;
}

/** A person with a key of their own and no passkey yet. */
export async function reviewer(
  app: ServedApp,
  name: string,
  roles: readonly string[],
): Promise<Omit<Signer, 'passkeyId'>> {
  const agent = await createAgent(app, { name, kind: 'human', roles });
  const { secret: key } = await issueKey(app, { agentId: agent.id, scopes: ['review'] });
  return { agent, key, device: new SoftwareAuthenticator() };
}

export async function signer(
  app: ServedApp,
  name: string,
  roles: readonly string[],
  device = new SoftwareAuthenticator(),
): Promise<Signer> {
  const { agent, key } = await reviewer(app, name, roles);
  const path = `/api/v1/agents/${agent.id}/passkeys`;
  const { body: options } = await send(app, 'POST', `${path}/options`, { key });
  const credential = device.create(options['challenge']);
  const { status, body } = await send(app, 'POST', path, { key, body: { credential, name: 'Phone' } });
  expect(status).toBe(201);
  return { agent, key, device, passkeyId: body.id };
}

/** Says what an approval of this decision has to sign. */
export function signedOf(decision: DecisionResponse, agentId: string, grant?: object): object {
  const { id: decisionId, executionId, actionHash, context, description, riskLevel, title, change } = decision;
  return executionId === null
    ? { agentId, context, decisionId, description, riskLevel, title, verdict: 'approve', ...(change && { change }) }
    : { actionHash, agentId, decisionId, verdict: 'approve', ...(grant && { grant }) };
}

/** Approves with a signature for exactly that, unless it says otherwise. */
export async function signAndApprove(
  app: ServedApp,
  decisionId: string | null,
  { agent, key, device }: Pick<Signer, 'agent' | 'key' | 'device'>,
  { faults, ...more }: { readonly faults?: Faults; readonly [member: string]: unknown } = {},
): Promise<Answer> {
  const { body: decision } = await send(app, 'GET', `/api/v1/decisions/${String(decisionId)}`);
  const signature = device.sign(signedOf(decision, agent.id), faults);
  const body = { approverId: agent.id, signature, ...more };
  return send(app, 'POST', `/api/v1/decisions/${String(decisionId)}/approve`, { key, body });
}
