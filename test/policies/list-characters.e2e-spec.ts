import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';
import { decisionFileOf, keyAndLog, verifyFile } from '../evidence/verified-file';

/** Texts of 65,536 characters together: as many as a condition reads as paths or hosts. */
const MOST = Array.from({ length: 16 }, (_, index) => `https://e.example/${String(index).padStart(4_078, 'a')}`);
const TOO_MANY = [...MOST, 'https://e.example/a'];

describe('Texts of a list that are read as paths or hosts', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const url = { parameter: '/urls/*', op: 'within', value: 'https://e.example' };
    await createPolicy(app, { actions: ['get'], conditions: [url] });
    await createPolicy(app, { actions: ['send'] });
    const host = { parameter: '/urls/*', op: 'domain', value: ['evil.example'] };
    await createPolicy(app, { effect: 'deny', actions: ['send'], priority: 1, conditions: [host] });
  });
  afterAll(() => app.close());

  it.each([
    ['get', 'allowed', 200, MOST],
    ['get', 'not allowed', 403, TOO_MANY],
    ['send', 'not denied', 200, MOST],
    ['send', 'denied', 403, TOO_MANY],
  ])('are unknown beyond 65,536 characters: to %s is %s', async (action, _, status, urls) => {
    const body = { action, resourceType: 'page', resourceId: 'pages/1', parameters: { urls } };
    const answer = await send(app, 'POST', '/api/v1/agents/bot/execute', { body });
    expect(answer.status).toBe(status);
    const { data } = (await send(app, 'GET', '/api/v1/executions?limit=1')).body;
    const [{ id }] = data;
    const { publicKey, log } = await keyAndLog(app);
    const { exitCode, errors } = await verifyFile(await decisionFileOf(app, { id }), publicKey, log);
    expect([exitCode, errors]).toEqual([0, '']);
  });
});
