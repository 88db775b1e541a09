import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

describe('The verifier, on paths whose decoded characters compose to others', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({});
    await createAgent(app, { name: 'bot', capabilities: ['read'] });
    const conditions = [{ parameter: '/path', op: 'within', value: '/srv/public' }];
    await createPolicy(app, { name: 'public', effect: 'allow', resources: ['*'], conditions });
  });
  afterAll(() => app.close());

  it.each([
    ['a letter with a mark, in a resource', 'docs/%41%CC%81', '/srv/public/a', 'authorized'],
    ['a Kelvin sign with a mark, in a resource', 'docs/%E2%84%AA%CC%81', '/srv/public/a', 'authorized'],
    ['a letter with a mark, in a parameter', 'docs/a', '/srv/public/%41%CC%81', 'authorized'],
    ['a Greek question mark, which is a semicolon, in a parameter', 'docs/a', '/srv/public/%CD%BE', 'denied'],
  ])('reads %s as the service does', async (_, resourceId, path, outcome) => {
    const body = { action: 'read', resourceType: 'doc', resourceId, parameters: { path } };
    await send(app, 'POST', '/api/v1/agents/bot/execute', { body });
    const execution = (await send(app, 'GET', '/api/v1/executions')).body.data.at(-1);
    expect(execution).toMatchObject({ resourceId, outcome });
    const { publicKey, log } = await keyAndLog(app);
    const { exitCode, output } = await verifyFile(await decisionFileOf(app, execution), publicKey, log);
    expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
  });
});
