import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { runVerifier } from '../support/processes/run-verifier';

describe('The verifier, on an export that was cut off', () => {
  it('calls it incomplete, wherever a commit or an erasure was cut, and never invalid', async () => {
    const app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    try {
      const post = async (path: string, body: object): Promise<Parsed> =>
        (await send(app, 'POST', `/api/v1${path}`, { body })).body;
      const execute = (action: string): Promise<Parsed> =>
        post('/agents/bot/execute', { action, resourceType: 'o', resourceId: 'a', parameters: { amount: 5 } });
      await createAgent(app, { name: 'bot', capabilities: ['*'] });
      const limits = [{ max: 100, of: '/amount', per: 'day', by: 'agent' }];
      for (const version of ['1', '2']) await createPolicy(app, { name: 'sends', version, actions: ['send'], limits });
      await createPolicy(app, { name: 'buys', effect: 'require_approval', actions: ['buy'] });
      const executions = [await execute('buy'), await execute('send'), await execute('send')];
      const subjects = executions.slice(1).map(({ id }) => ({ type: 'execution', id }));
      await send(app, 'POST', `/api/v1/executions/${executions[0]?.['id']}/cancel`);
      await post('/erasures', { subjects, reason: 'Asked for.' });
      await execute('send');
      const log = (await send(app, 'GET', '/api/v1/provenance/export')).text;
      expect((await runVerifier(['-'], log)).output).toMatch(/\nVALID\n$/);
      const lines = log.trimEnd().split('\n').slice(0, -1);
      expect(lines.filter((line) => line.includes('.erased"')).length).toBeGreaterThan(1);
      const answers = [];
      for (const [index] of lines.entries()) {
        const { exitCode, output } = await runVerifier(['-'], `${lines.slice(0, index + 1).join('\n')}\n`);
        if (exitCode !== 3) answers.push({ index, exitCode, output });
      }
      expect(answers).toEqual([]);
    } finally {
      await app.close();
    }
  });
});
