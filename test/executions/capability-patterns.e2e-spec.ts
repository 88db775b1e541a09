import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { faults, send } from '../support/application/send';

describe('Capabilities', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createPolicy(app);
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  async function canDo(agent: string, action: string): Promise<boolean> {
    const request = { action, resourceType: 'document', resourceId: 'a' };
    const { status } = await send(app, 'POST', `/api/v1/agents/${agent}/execute`, { body: request });
    const { body } = await send(app, 'POST', '/api/v1/policies/evaluate', { body: { agent, ...request } });
    expect(body.reason).toBe(status === 200 ? null : 'capability_missing');
    return status === 200;
  }

  it('are actions, beginnings of actions with "*", or all of them', async () => {
    await createAgent(app, { name: 'exact', capabilities: ['read', 'send_mail'] });
    await createAgent(app, { name: 'reader', capabilities: ['read_*'] });
    await createAgent(app, { name: 'any', capabilities: ['*'] });
    const can = async (agent: string): Promise<boolean[]> => {
      const answers: boolean[] = [];
      for (const action of ['read', 'read_', 'read_file', 'send_mail']) answers.push(await canDo(agent, action));
      return answers;
    };
    expect(await can('exact')).toEqual([true, false, false, true]);
    expect(await can('reader')).toEqual([false, true, true, false]);
    expect(await can('any')).toEqual([true, true, true, true]);
  });

  it('have no "*" elsewhere, and are found by their text', async () => {
    for (const capability of ['*_read', 'a*b', '**', ' *']) {
      const body = { name: 'refused', capabilities: [capability] };
      const answer = await send(app, 'POST', '/api/v1/agents', { body });
      expect([answer.status, Object.keys(faults(answer))]).toEqual([400, ['capabilities[0]']]);
    }
    const agentsWith = async (capability: string): Promise<string[]> => {
      const { body } = await send(app, 'GET', `/api/v1/agents?capability=${encodeURIComponent(capability)}`);
      return (body.data as { name: string }[]).map(({ name }) => name);
    };
    expect(await agentsWith('read_*')).toEqual(['reader']);
    expect(await agentsWith('read_file')).toEqual([]);
    expect(await agentsWith('read')).toEqual(['exact']);
  });
});
