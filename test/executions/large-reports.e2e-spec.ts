import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';

describe('Outcomes that are reported together', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { RATE_LIMIT: '1000' } });
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    await createPolicy(app, { name: 'sends', actions: ['send'] });
    return { app };
  });

  const execute = async (resourceId: string, parameters: object): Promise<Parsed> => {
    const body = { action: 'send', resourceType: 'order', resourceId, parameters };
    return (await send(stage.app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
  };
  const completions = async (): Promise<Parsed> =>
    (await send(stage.app, 'GET', '/api/v1/audit?action=execution.completed&order=desc&limit=1')).body;

  it('let others write between those of large executions', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 60; index += 1)
      ids.push((await execute(`large/${index}`, { text: 'x'.repeat(300_000) })).id);
    const results = ids.map((id) => ({ id, outcome: 'executed' }));
    const reported = send(stage.app, 'POST', '/api/v1/executions/results', { body: { results } });
    while ((await completions()).total === 0);
    const { id } = await execute('small', {});
    const { body } = await reported;
    expect(body.data).toEqual(ids.map((reportedId) => ({ id: reportedId, error: null })));
    const [begun] = (await send(stage.app, 'GET', `/api/v1/audit?subjectId=${id}`)).body.data;
    const [last] = (await completions()).data;
    expect(begun.sequence).toBeLessThan(last.sequence);
  });
});
