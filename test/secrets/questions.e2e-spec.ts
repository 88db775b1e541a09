import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createPolicy, issueKey } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { ask, type Company, company, EXECUTIONS, order } from '../approvals/support';

describe('Questions about secrets', () => {
  const stage = stageOf(async (): Promise<{ app: TestApp; people: Company }> => {
    const app = await createTestApp();
    const people = await company(app);
    await createPolicy(app);
    const value = { parameter: '/token', op: 'eq', value: 'a-known-token' };
    await createPolicy(app, { effect: 'deny', actions: ['refund'], conditions: [value], priority: 1 });
    return { app, people };
  });
  const QUESTION = { agent: 'bot', action: 'refund', resourceType: 'payment', resourceId: 'orders/1' };
  const evaluate = (body: object): Promise<Answer> => send(stage.app, 'POST', '/api/v1/policies/evaluate', { body });

  it('leave conditions on them unknown, at evaluate as at execute', async () => {
    const { app, people } = stage;
    const effects = async (parameters: object, more = {}): Promise<unknown[]> => {
      const evaluated = await evaluate({ ...QUESTION, parameters, ...more });
      const executed = await ask(app, people.bot, { ...order(), parameters, ...more });
      return [evaluated.body.effect, executed.status];
    };
    expect(await effects({ token: 'another-token' })).toEqual(['deny', 403]);
    expect(await effects({ token: '' })).toEqual(['allow', 200]);
  });

  it('take pointers for each question, and in the list those next to it', async () => {
    await createPolicy(stage.app, {
      effect: 'deny',
      actions: ['send'],
      conditions: [{ parameter: '/amount', op: 'gt', value: 100 }],
      priority: 1,
    });
    const question = { action: 'send', parameters: { amount: 1 } };
    const { body } = await evaluate({
      ...QUESTION,
      secret: ['/amount'],
      requests: [question, { ...question, secret: [] }, { ...question, agent: null, subject: { name: 'x' } }],
    });
    expect(body.results.map(({ effect }: Parsed) => effect)).toEqual(['deny', 'allow', 'deny']);
  });

  it('refuse members of the service, and pointers that are none', async () => {
    const requests = [{ parameters: { a: { $secret: 'x' } } }, { secret: ['token'] }, {}];
    const answer = await evaluate({ ...QUESTION, parameters: { $hmac: 1 }, requests });
    expect([answer.status, Object.keys(faults(answer)).sort()]).toEqual([
      400,
      ['parameters.$hmac', 'requests[0].parameters.a.$secret', 'requests[1].secret[0]'],
    ]);
    const many = Array.from({ length: 11 }, (_, index) => `/${index}`);
    for (const [path, body] of [
      ['/api/v1/policies/evaluate', { ...QUESTION, secret: many }],
      ['/api/v1/agents/bot/execute', { ...QUESTION, agent: undefined, secret: many }],
      [`${EXECUTIONS}/exe_1/resume`, { secret: many }],
    ] as const)
      expect(faults(await send(stage.app, 'POST', path, { body }))).toEqual({ secret: 'must have at most 10 items' });
  });

  it('of AuthZEN refuse members of the service, in the place of an item', async () => {
    const item = (properties: object): object => ({
      subject: { type: 'agent', id: 'bot' },
      action: { name: 'refund', properties },
      resource: { type: 'payment', id: 'orders/1' },
    });
    const single = await send(stage.app, 'POST', '/access/v1/evaluation', { body: item({ a: { $secret: 1 } }) });
    expect([single.status, faults(single)]).toEqual([400, { 'action.properties.a.$secret': expect.any(String) }]);
    const body = { evaluations: [item({ $hmac: 1 }), item({ token: 'x-token' }), item({ token: '' })] };
    const list = await send(stage.app, 'POST', '/access/v1/evaluations', { body });
    expect(list.body.evaluations.map(({ decision, context }: Parsed) => [decision, context.error?.status])).toEqual([
      [false, 400],
      [false, undefined],
      [true, undefined],
    ]);
  });

  it('of a plan are tests', async () => {
    const test = { ...QUESTION, parameters: { token: 'any-token' }, expect: 'deny' };
    const plan = (tests: object[]): Promise<Answer> =>
      send(stage.app, 'POST', '/api/v1/policies/plan', { body: { policies: [], tests } });
    expect((await plan([test])).body.tests).toEqual({ passed: 1, failed: [] });
    expect(faults(await plan([{ ...test, parameters: { $secret: 'x' } }]))).toEqual({
      'tests[0].parameters.$secret': expect.any(String),
    });
  });

  it('with very long pointers together are too many', async () => {
    const below = (name: string, count: number): object => ({ [name]: Array(count).fill({ token: 'x' }) });
    const long = below('n'.repeat(300_000), 4);
    expect(
      (await evaluate({ ...QUESTION, agent: null, subject: {}, parameters: below('n'.repeat(300_000), 3) })).status,
    ).toBe(200);
    const message = expect.stringContaining('fewer secrets, or shorter names');
    for (const [path, body, field] of [
      ['/api/v1/policies/evaluate', { ...QUESTION, parameters: long }, 'parameters'],
      ['/api/v1/agents/bot/execute', { ...QUESTION, agent: undefined, parameters: long }, 'parameters'],
      [
        '/access/v1/evaluation',
        {
          subject: { type: 'agent', id: 'bot' },
          action: { name: 'refund', properties: long },
          resource: { type: 'payment', id: 'orders/1' },
        },
        'action.properties',
      ],
      ['/api/v1/policies/plan', { policies: [], tests: [{ ...QUESTION, parameters: long, expect: 'deny' }] }, 'tests'],
    ] as const)
      expect([path, faults(await send(stage.app, 'POST', path, { body }))]).toEqual([path, { [field]: message }]);
  });

  it('do not tell by their number whether an agent exists', async () => {
    const { secret: key } = await issueKey(stage.app, { scopes: ['execute'], agentId: stage.people.bot.id });
    await send(stage.app, 'POST', '/api/v1/agents', { body: { name: 'hidden' } });
    const own = Array.from({ length: 17 }, (_, index) => ({ secret: [`/other${index}`] }));
    const parameters = { token: 'x', filler: 'x'.repeat(900_000) };
    const statusFor = async (agent: string): Promise<number> => {
      const requests = [...own, { agent: 'nobody-of-this-name' }, { agent }];
      const body = { ...QUESTION, parameters, requests };
      return (await send(stage.app, 'POST', '/api/v1/policies/evaluate', { key, body })).status;
    };
    expect(await statusFor('hidden')).toBe(await statusFor('another-name'));
  });

  it('with much to replace, each for its agent, are too many', async () => {
    const requests = Array.from({ length: 40 }, (_, index) => ({ agent: null, subject: { name: `s${index}` } }));
    const parameters = { token: 'x'.repeat(900_000) };
    expect((await evaluate({ ...QUESTION, parameters, requests })).status).toBe(200);
    for (let index = 0; index < 20; index += 1)
      await send(stage.app, 'POST', '/api/v1/agents', { body: { name: `many-${index}`, capabilities: ['refund'] } });
    const agents = Array.from({ length: 20 }, (_, index) => ({ agent: `many-${index}` }));
    const answer = await evaluate({ ...QUESTION, parameters, requests: agents });
    expect([answer.status, faults(answer)]).toEqual([400, { requests: expect.stringContaining('must be fewer') }]);
  });
});
