import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { builtClient } from '../typescript-client';

const SEND = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };

describeOnSqlite('What a refusal says in the TypeScript client', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['send', 'burn'] });
    await createPolicy(app, { name: 'no-fire', version: '1', effect: 'deny', actions: ['burn'] });
  });
  afterAll(() => app.close());

  async function refused(action: string, scopes: readonly string[]): Promise<{ text: string; explanation: unknown }> {
    const { GovernanceClient, GovernanceError } = await builtClient();
    const { secret } = await issueKey(app, { name: scopes.join(' '), scopes });
    const governance = new GovernanceClient({ url: app.url, key: secret });
    const error: unknown = await governance.guard({ ...SEND, action }, () => 'ran').catch((thrown: unknown) => thrown);
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
});
