import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { send } from '../../support/application/send';
import { builtClient } from '../typescript-client';

const SEND = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };

describeOnSqlite('What a refusal says in the TypeScript client', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['send', 'burn', 'pay'] });
    await createPolicy(app, { name: 'no-fire', version: '1', effect: 'deny', actions: ['burn'] });
  });
  afterAll(() => app.close());

  async function refused(
    action: string,
    scopes: readonly string[],
    parameters = {},
  ): Promise<{ text: string; explanation: unknown }> {
    const { GovernanceClient, GovernanceError } = await builtClient();
    const { secret } = await issueKey(app, { name: scopes.join(' '), scopes });
    const governance = new GovernanceClient({ url: app.url, key: secret });
    const guarded = governance.guard({ ...SEND, action, parameters }, () => 'ran');
    const error: unknown = await guarded.catch((thrown: unknown) => thrown);
    if (!(error instanceof GovernanceError)) throw new Error(String(error));
    return { text: error.explained(), explanation: error.explanation };
  }

  it('is its own reason, where the key may not ask at all', async () => {
    const { text, explanation } = await refused('burn', ['read']);
    expect(text).toBe('The key or token lacks the scope for this: "execute".\nReason: scope_missing.');
    expect(explanation).toBeNull();
  });

  it('is the reason and the policies that decided', async () => {
    const { text } = await refused('burn', ['execute']);
    expect(text).toMatch(/\nReason: policy_denied\.\nDecided by the policy no-fire 1\.$/);
  });

  it('names of several limits those that are reached, by exact amounts', async () => {
    const limits = [
      { max: 0.3, of: '/amount', per: 'month', by: 'agent' },
      { max: 1, per: 'month', by: 'agent' },
    ];
    await createPolicy(app, { name: 'small', version: '1', actions: ['pay'], limits });
    const { agent, ...mail } = SEND;
    await send(app, 'POST', `/api/v1/agents/${agent}/execute`, {
      body: { ...mail, action: 'pay', parameters: { amount: 0.1 } },
    });
    const { text } = await refused('pay', ['execute', 'read'], { amount: 0.2 });
    expect(text.match(/small 1 would allow it, but .*/g)).toEqual([expect.stringContaining('1 of 1 are used')]);
  });
});
