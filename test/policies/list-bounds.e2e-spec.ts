import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';

const POLICIES = 10;
/** The most items of a list that ten conditions may compare for one question. */
const MOST_ITEMS = 500;
/** The most such questions of one request. */
const MOST_QUESTIONS = 200;

const LISTS = 'must have shorter lists: the conditions of policies on each item of a list would compare more than ';
const RESOURCE = { resourceType: 'mail', resourceId: 'mails/7' };

describe('Conditions on each item of a list', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    await createPolicy(app);
    for (let index = 0; index < POLICIES; index += 1)
      await createPolicy(app, {
        ...{ effect: 'deny', actions: ['send'], priority: 1 },
        conditions: [{ parameter: '/to/*', op: 'domain', value: ['evil.example'] }],
      });
  });
  afterAll(() => app.close());

  const parametersOf = (items: number): object => ({ to: Array.from({ length: items }, () => 'ann@acme.example') });
  const evaluate = (body: object): Promise<Answer> =>
    send(app, 'POST', '/api/v1/policies/evaluate', { body: { agent: 'bot', action: 'send', ...RESOURCE, ...body } });
  const access = (path: string, items: number, body: object): Promise<Answer> => {
    const { resourceType: type, resourceId: id } = RESOURCE;
    return send(app, 'POST', `/access/v1/${path}`, {
      body: {
        ...{ subject: { type: 'agent', id: 'bot' }, resource: { type, id } },
        action: { name: 'send', properties: parametersOf(items) },
        ...body,
      },
    });
  };
  const execute = (items: number): Promise<Answer> =>
    send(app, 'POST', '/api/v1/agents/bot/execute', {
      body: { action: 'send', ...RESOURCE, parameters: parametersOf(items) },
    });
  const plan = (items: number): Promise<Answer> => {
    const policy = { name: 'a', version: '1', subjects: ['*'], resources: ['*'], actions: ['send'] };
    const conditions = Array.from({ length: POLICIES }, () => ({ parameter: '/to/*', op: 'prefix', value: 'ann' }));
    const test = { agent: 'bot', action: 'send', ...RESOURCE, parameters: parametersOf(items), expect: 'allow' };
    return send(app, 'POST', '/api/v1/policies/plan', {
      body: { policies: [{ ...policy, effect: 'allow', conditions }], tests: [test], prune: true },
    });
  };

  it.each<[name: string, field: string, ask: (items: number) => Promise<Answer>]>([
    ['evaluate', 'parameters', (items) => evaluate({ parameters: parametersOf(items) })],
    ['evaluate with a list', 'requests', (items) => evaluate({ parameters: parametersOf(items), requests: [{}] })],
    ['an explanation', 'parameters', (items) => evaluate({ parameters: parametersOf(items), explain: true })],
    ['AuthZEN', 'action.properties', (items) => access('evaluation', items, {})],
    ['AuthZEN with a list', 'evaluations', (items) => access('evaluations', items, { evaluations: [{}] })],
    ['execute', 'parameters', execute],
    ['a test of a plan', 'tests[0].parameters', plan],
  ])('compare up to 5000 items for one question: %s', async (_, field, ask) => {
    expect((await ask(MOST_ITEMS)).status).toBe(200);
    const refused = await ask(MOST_ITEMS + 1);
    expect([refused.status, refused.body.error.details]).toEqual([400, [{ field, message: `${LISTS}5000 items` }]]);
  });

  it('compare up to a million items for one request', async () => {
    const questions = (count: number): object[] => Array.from({ length: count }, () => ({}));
    const parameters = parametersOf(MOST_ITEMS);
    const message = expect.stringContaining(`for the first ${MOST_QUESTIONS + 1} of them`);
    expect((await evaluate({ parameters, requests: questions(MOST_QUESTIONS) })).status).toBe(200);
    expect(await evaluate({ parameters, requests: questions(1_000) })).toMatchObject({
      status: 400,
      body: { error: { details: [{ field: 'requests', message }] } },
    });
    expect((await access('evaluations', MOST_ITEMS, { evaluations: questions(MOST_QUESTIONS) })).status).toBe(200);
    expect(await access('evaluations', MOST_ITEMS, { evaluations: questions(1_000) })).toMatchObject({
      status: 400,
      body: { error: { details: [{ field: 'evaluations', message }] } },
    });
  });

  it('are counted for policies that match the question otherwise, and in an explanation for those that nearly do', async () => {
    const parameters = parametersOf(5_001);
    expect(await evaluate({ parameters, action: 'read' })).toMatchObject({ status: 200, body: { effect: 'allow' } });
    const refused = await evaluate({ parameters, action: 'read', explain: true });
    expect([refused.status, refused.body.error.details]).toEqual([
      400,
      [{ field: 'parameters', message: `${LISTS}50000 items` }],
    ]);
    expect((await evaluate({ parameters: parametersOf(5_000), action: 'read', explain: true })).status).toBe(200);
  });

  it('of a request that is refused for its lists leave no record', async () => {
    const { total: before } = (await send(app, 'GET', '/api/v1/executions?limit=1')).body;
    expect((await execute(MOST_ITEMS + 1)).status).toBe(400);
    expect((await send(app, 'GET', '/api/v1/executions?limit=1')).body.total).toBe(before);
  });
});
