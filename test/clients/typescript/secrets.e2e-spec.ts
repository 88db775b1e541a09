import { createTestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { describeOnSqlite } from '../../support/database/database-kind';
import { builtClient } from '../typescript-client';

describeOnSqlite('A guard of the TypeScript client', () => {
  it('gives its function the secrets that were sent, which the service does not keep', async () => {
    const { GovernanceClient } = await builtClient();
    const app = await createTestApp();
    const { id: agentId } = await createAgent(app, { name: 'bot', capabilities: ['*'] });
    await createPolicy(app);
    const { secret } = await issueKey(app, { name: 'bot', scopes: ['execute', 'read'], agentId });
    const governance = new GovernanceClient({ url: app.url, key: secret });
    const parameters = { token: 'of-guard', list: [{ pin: 7 }], amount: 3 };
    const request = { action: 'pay', resourceType: 'payment', resourceId: 'p/1', secret: ['/list/*/pin'] };
    const seenParameters: unknown[] = [];
    const result = await governance.guard({ ...request, parameters }, ({ parameters: seen }) => {
      seenParameters.push(seen);
      return { cookie: 'of-result' };
    });
    expect([seenParameters, result]).toEqual([[parameters], { cookie: 'of-result' }]);
    const { data } = await governance.get('/api/v1/executions', {});
    const sealed = { $secret: expect.any(String) };
    expect(data).toMatchObject([
      {
        outcome: 'executed',
        parameters: { token: sealed, list: [{ pin: sealed }], amount: 3 },
        result: { cookie: sealed },
      },
    ]);
    await app.close();
  });
});
