import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Answer, type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { entryOf, forge } from './forged-file';
import { decisionFileOf, verifyFile } from './verified-file';

const HOUR = 60 * 60 * 1000;

describe('The decision file of an observed agent', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const bot = await createAgent(app, { name: 'bot', capabilities: ['*'] });
    await createPolicy(app, { name: 'reads', actions: ['read'] });
    const observeUntil = new Date(Date.now() + HOUR).toISOString();
    await send(app, 'PATCH', `/api/v1/agents/${bot.id}`, { body: { observeUntil } });
    return { app, bot };
  });

  async function fileOf(action: string): Promise<string> {
    const { app, bot } = stage;
    const body = { action, resourceType: 'doc', resourceId: 'a', parameters: {} };
    const executed = await send(app, 'POST', `/api/v1/agents/${bot.id}/execute`, { body });
    return decisionFileOf(app, executed.body);
  }

  async function verify(text: string, publicKey?: string): Promise<string> {
    const key = publicKey ?? (await send(stage.app, 'GET', '/api/v1/provenance/checkpoint')).body.publicKey;
    return (await verifyFile(text, key)).output;
  }

  it('says that no policy allowed it, and recomputes', async () => {
    const output = await verify(await fileOf('write'));
    expect(output).toContain(
      'None of the 1 policy in force allows it; the agent was observed, so it was let through and noted.',
    );
    expect(output).toMatch(/RECOMPUTED: authorized as recorded\n$/);
  });

  it('says nothing of it where a policy allowed it', async () => {
    const output = await verify(await fileOf('read'));
    expect(output).not.toContain('observed');
    expect(output).toMatch(/RECOMPUTED: authorized as recorded\n$/);
  });

  it('recomputes a repeated resume, which policies allowed before it was observed', async () => {
    const { app, bot } = stage;
    const { id: policyId } = await createPolicy(app, { effect: 'require_approval', actions: ['pay'] });
    const body = { action: 'pay', resourceType: 'doc', resourceId: 'a', parameters: {} };
    const { body: execution } = await send(app, 'POST', `/api/v1/agents/${bot.id}/execute`, { body });
    const { id: approverId } = await createAgent(app, { name: 'ann', kind: 'human' });
    await send(app, 'POST', `/api/v1/decisions/${execution.decisionId}/approve`, { body: { approverId } });
    const resume = (): Promise<Answer> =>
      send(app, 'POST', `/api/v1/executions/${execution.id}/resume`, { headers: { 'Idempotency-Key': 'once' } });
    const { status, body: resumed } = await resume();
    expect([status, resumed.observed, (await resume()).body]).toEqual([200, undefined, resumed]);
    await send(app, 'POST', `/api/v1/policies/${policyId}/deactivate`);
    const refused = await resume();
    expect([refused.status, refused.body.error?.reason]).toEqual([403, 'no_policy_allows']);
    const output = await verify(await decisionFileOf(app, resumed));
    expect(output).toMatch(/RECOMPUTED: authorized as recorded\n$/);
  });

  it.each<[string, (file: Parsed) => unknown]>([
    ['the agent was not observed', (file) => delete entryOf(file, 'agent.updated').state.observeUntil],
    ['it ended before', (file) => (entryOf(file, 'agent.updated').state.observeUntil = '2026-01-01T00:00:00.000Z')],
    ['the entry does not say so', (file) => delete entryOf(file, 'execution.authorized').audit.details.observed],
    ['the record does not say so', (file) => delete entryOf(file, 'execution.authorized').state.observed],
  ])('differs where %s', async (_what, change) => {
    const forged = forge(await fileOf('write'), change);
    expect(await verify(forged.text, forged.publicKey)).toMatch(/\nDIFFERS: /);
  });
});
