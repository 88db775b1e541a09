import { createTestApp, type TestApp } from '../support/application/create-test-app';
import {
  addClaim,
  chainIsValid,
  createAgent,
  createEntity,
  createPolicy,
  issueKey,
} from '../support/application/factories';
import { erase } from '../support/application/erase';
import { type Answer, faults, type Parsed, send } from '../support/application/send';

const MAY_READ = {
  ...{ name: 'may-read', version: '1', effect: 'allow' },
  ...{ subjects: ['role:reader'], actions: ['read'], resources: ['*'] },
};
const CLOSED = { ...MAY_READ, name: 'closed', effect: 'deny', subjects: ['*'], resources: ['closed'], priority: 1 };

describe('A plan with replay', () => {
  let app: TestApp;
  let bot: Parsed;

  beforeEach(async () => {
    app = await createTestApp({ environment: { REPLAY_LIMIT: '3', RETAIN_AT_LEAST: 'PT0S' } });
    bot = await createAgent(app, { name: 'bot', roles: ['reader'], capabilities: ['read', 'write'] });
  });
  afterEach(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const execute = async (resourceId: string, more: object = {}, agent = bot): Promise<Parsed> => {
    const body = { action: 'read', resourceType: 'doc', resourceId, ...more };
    const { body: answer } = await send(app, 'POST', `/api/v1/agents/${agent.id}/execute`, { body });
    return answer;
  };
  const plan = (policies: readonly object[], replay: unknown, more: object = {}): Promise<Answer> =>
    send(app, 'POST', '/api/v1/policies/plan', { body: { policies, replay }, ...more });
  const replayed = async (policies: readonly object[], replay: unknown = {}): Promise<Parsed> => {
    const answer = await plan(policies, replay);
    expect(answer.status).toBe(200);
    return answer.body.replay;
  };
  const change = (body: object): Promise<Answer> => send(app, 'PATCH', `/api/v1/agents/${bot.id}`, { body });

  it('evaluates what agents requested again, by the set in force and the planned one', async () => {
    const { id } = await createPolicy(app, MAY_READ);
    const first = await execute('closed');
    await execute('open');
    await execute('open', { action: 'write' });
    expect(await replayed([CLOSED])).toEqual({
      ...{ executions: 3, changed: 1, skipped: 0, cut: false },
      examples: [
        {
          ...{ executionId: first.id, recorded: 'authorized', was: 'allow', now: 'deny' },
          because: {
            from: [{ id, name: 'may-read', version: '1' }],
            to: [{ id: null, name: 'closed', version: '1' }],
          },
        },
      ],
    });
    expect(await replayed([MAY_READ])).toMatchObject({ executions: 3, changed: 0, examples: [] });
    expect((await plan([MAY_READ], null)).body).not.toHaveProperty('replay');
  });

  it('evaluates each for the agent as it was then, and shows the first recorded outcome', async () => {
    await createPolicy(app, MAY_READ);
    const asReader = await execute('a');
    await change({ roles: [] });
    await execute('a');
    await change({ roles: ['reader'], capabilities: ['write'] });
    await execute('a');
    await send(app, 'POST', `/api/v1/executions/${asReader.id}/result`, { body: { outcome: 'executed' } });
    const { changed, examples } = await replayed([{ ...CLOSED, resources: ['*'] }]);
    expect(changed).toBe(1);
    expect(examples).toMatchObject([{ executionId: asReader.id, recorded: 'authorized', was: 'allow', now: 'deny' }]);
    // With today's roles, the second one would be allowed as well.
    await change({ capabilities: ['read', 'write'] });
    expect(await replayed([{ ...CLOSED, resources: ['*'] }])).toMatchObject({ executions: 3, changed: 1 });
  });

  it('includes agents that were suspended, and compares effects only', async () => {
    await createPolicy(app, MAY_READ);
    await send(app, 'POST', `/api/v1/agents/${bot.id}/suspend`);
    await execute('a');
    await send(app, 'POST', `/api/v1/agents/${bot.id}/resume`);
    const pending = { ...MAY_READ, name: 'ask', effect: 'require_approval', resources: ['b'], priority: 2 };
    await createPolicy(app, pending);
    const execution = await execute('b');
    const { body } = await send(app, 'POST', '/api/v1/policies/plan', {
      body: { policies: [MAY_READ], prune: true, replay: {} },
    });
    expect(body.replay).toMatchObject({ executions: 2, changed: 1 });
    expect(body.replay.examples).toMatchObject([
      { executionId: execution.id, recorded: 'pending_approval', was: 'require_approval', now: 'allow' },
    ]);
  });

  it('passes over what depended on claims that were erased', async () => {
    const { id } = await createEntity(app);
    await addClaim(app, id, { predicate: 'state', value: 'open' });
    const conditions = [{ claim: 'state', op: 'supports', parameter: '/state', value: 0 }];
    await createPolicy(app, { ...MAY_READ, conditions });
    await execute(id, { parameters: { state: 'open' } });
    await execute('a');
    await erase(app, { type: 'entity', id });
    const unconditional = { ...MAY_READ, version: '2' };
    expect(await replayed([unconditional])).toMatchObject({ executions: 2, changed: 1, skipped: 1, cut: false });
  });

  it('begins with the newest, and says if a limit ended it', async () => {
    await createPolicy(app, MAY_READ);
    const executions: Parsed[] = [];
    for (const id of ['1', '2', '3', '4']) executions.push(await execute(id));
    const { examples, ...counts } = await replayed([{ ...CLOSED, resources: ['*'] }]);
    expect(counts).toEqual({ executions: 3, changed: 3, skipped: 0, cut: true });
    expect(examples.map(({ executionId }: Parsed) => executionId)).toEqual(
      [...executions.slice(1)].reverse().map(({ id }) => id),
    );
    const [first, second] = executions;
    const between = { from: first?.createdAt, to: second?.createdAt };
    expect((await replayed([], between)).executions).toBeGreaterThanOrEqual(2);
    expect(await replayed([], { to: '2020-01-01' })).toMatchObject({ executions: 0, cut: false });
    expect(await replayed([], { from: null, to: null })).toMatchObject({ executions: 3, cut: true });
  });

  it('takes valid times only', async () => {
    const names = async (replay: unknown): Promise<string[]> => Object.keys(faults(await plan([], replay))).sort();
    expect(await names('all')).toEqual(['replay']);
    expect(await names({ from: 'yesterday', to: 7, since: '2026-01-01' })).toEqual([
      ...['replay.from', 'replay.since', 'replay.to'],
    ]);
    expect(await names({ from: '2026-01-02', to: '2026-01-01' })).toEqual(['replay.from']);
  });

  it('shows a caller that may not read executions only those of its own agent', async () => {
    await createPolicy(app, MAY_READ);
    const other = await createAgent(app, { name: 'other', roles: ['reader'], capabilities: ['read'] });
    await execute('a');
    const own = await execute('a', {}, other);
    const { secret: key } = await issueKey(app, { scopes: ['policies'], agentId: other.id });
    const { body } = await plan([{ ...CLOSED, resources: ['*'] }], {}, { key });
    expect(body.replay).toMatchObject({ executions: 1, changed: 1, examples: [{ executionId: own.id }] });
  });
});

describe('A replay that takes long', () => {
  /** Milliseconds that appear to pass whenever the service looks at its clock. */
  const STEP = 200;
  const MAX_REPLAY_MS = 30_000;
  const EXECUTIONS = 160;
  const MAX_EXAMPLES = 100;

  it('ends after 30 seconds, with the newest executions, and says so', async () => {
    const app = await createTestApp();
    await createAgent(app, { name: 'bot', roles: ['reader'], capabilities: ['read'] });
    await createPolicy(app, MAY_READ);
    const execute = (body: object): Promise<Answer> => send(app, 'POST', '/api/v1/agents/bot/execute', { body });
    let last: Parsed = null;
    for (let index = 0; index < EXECUTIONS; index += 1)
      last = (await execute({ action: 'read', resourceType: 'doc', resourceId: `${index}` })).body;
    const body = { policies: [{ ...CLOSED, resources: ['*'] }], replay: {} };
    const plan = async (): Promise<Parsed> => (await send(app, 'POST', '/api/v1/policies/plan', { body })).body.replay;
    const whole = { executions: EXECUTIONS, changed: EXECUTIONS, cut: false, examples: { length: MAX_EXAMPLES } };
    expect(await plan()).toMatchObject(whole);
    const now = performance.now.bind(performance);
    let passed = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + (passed += STEP));
    const { executions, changed, cut, examples } = await plan();
    clock.mockRestore();
    expect(cut).toBe(true);
    expect(executions).toBeGreaterThan(0);
    expect(executions).toBeLessThanOrEqual(MAX_REPLAY_MS / STEP);
    expect([changed, examples.length]).toEqual([executions, Math.min(executions, MAX_EXAMPLES)]);
    expect(examples[0].executionId).toBe(last.id);
    await app.close();
  });
});
