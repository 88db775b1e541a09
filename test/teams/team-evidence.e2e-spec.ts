import { decisionFileOf, verifyFile } from '../evidence/verified-file';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';

describe('The decision file of an agent of a team', () => {
  let app: TestApp;
  let publicKey: string;

  beforeAll(async () => {
    app = await createTestApp();
    publicKey = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body.publicKey;
    for (const team of ['support', 'sales']) await createAgent(app, { name: `${team}-bot`, capabilities: ['*'], team });
    await createPolicy(app, { name: 'house', effect: 'deny', actions: ['pay'], priority: 1 });
    await createPolicy(app, { name: 'support', effect: 'allow', actions: ['pay'], priority: 5, team: 'support' });
    await createPolicy(app, { name: 'sales', effect: 'deny', actions: ['pay'], priority: 9, team: 'sales' });
  });
  afterAll(() => app.close());

  async function fileOf(agent: string): Promise<string> {
    const body = { action: 'pay', resourceType: 't', resourceId: 'x' };
    await send(app, 'POST', `/api/v1/agents/${agent}/execute`, { body });
    const { data } = (await send(app, 'GET', '/api/v1/executions?order=desc&limit=1')).body;
    return decisionFileOf(app, data[0]);
  }

  it.each([
    ['support-bot', 'authorized'],
    ['sales-bot', 'denied'],
  ])('is recomputed offline by the policies of the team and of none: %s is %s', async (agent, outcome) => {
    const { output, exitCode } = await verifyFile(await fileOf(agent), publicKey);
    expect(output).toMatch(new RegExp(`RECOMPUTED: ${outcome} as recorded\\n$`));
    expect(exitCode).toBe(0);
  });

  it('does not verify if a policy says that it is of another team', async () => {
    const text = await fileOf('support-bot');
    const changed = text.replaceAll('"team":"sales"', '"team":"support"');
    expect(changed).not.toBe(text);
    expect((await verifyFile(changed, publicKey)).exitCode).not.toBe(0);
  });
});
