import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { send, type Answer } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const POLICIES = '/api/v1/policies';
const RULES = { effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };

describe('Policies in force', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  const log: string[] = [];

  beforeEach(async () => {
    database = await temporaryDatabase();
  });
  afterEach(async () => {
    await chainIsValid(app);
    await app.close();
    await database.remove();
  });

  async function start(limits: Readonly<Record<string, string>>): Promise<void> {
    log.length = 0;
    const write = (line: string): void => void log.push(line);
    app = await createTestApp({ environment: { ...database.environment, ...limits }, logStream: { write } });
  }

  const create = (name: string, version = '1', more: object = {}): Promise<Answer> =>
    send(app, 'POST', POLICIES, { body: { ...RULES, name, version, ...more } });
  const change = (id: string, verb: string): Promise<Answer> => send(app, 'POST', `${POLICIES}/${id}/${verb}`);
  const entries = async (): Promise<number> => (await send(app, 'GET', '/api/v1/stats')).body.provenanceEntries;

  it('are at most MAX_POLICIES, even when many race; one that replaces another does not count', async () => {
    await start({ MAX_POLICIES: '3' });
    const answers = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => create(name)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409]);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused?.body.error).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('MAX_POLICIES') });
    const made = answers.find(({ status }) => status === 201);
    const { id, name } = (made?.body ?? {}) as { id: string; name: string };
    expect((await create(name, '2')).status).toBe(201);
    expect((await change(id, 'activate')).status).toBe(200);
    expect((await change(id, 'deactivate')).status).toBe(200);
    expect((await create('g')).status).toBe(201);
    const before = await entries();
    expect(await change(id, 'activate')).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
    expect(await entries()).toBe(before);
    expect((await send(app, 'GET', `${POLICIES}?status=active`)).body.total).toBe(3);
  });

  it('have at most MAX_POLICY_TEXT bytes of patterns', async () => {
    await start({ MAX_POLICY_TEXT: '1000' });
    const long = { resources: ['\u00e9'.repeat(300)] };
    const first = await create('long', '1', long);
    expect(first.status).toBe(201);
    const refused = await create('other', '1', long);
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
    expect(refused.body.error.message).toContain('MAX_POLICY_TEXT');
    expect((await create('long', '2', long)).status).toBe(201);
    expect((await create('long', '3', { resources: Array.from({ length: 3 }, () => 'x'.repeat(400)) })).status).toBe(
      409,
    );
    expect((await create('short')).status).toBe(201);
    expect((await create('long', '4')).status).toBe(201);
    expect((await create('other', '1', long)).status).toBe(201);
    expect((await change(first.body.id, 'activate')).status).toBe(409);
  });

  it('count the approvers of escalations', async () => {
    await start({ MAX_POLICY_TEXT: '1000' });
    const escalate = {
      after: 'PT1H',
      subjects: Array.from({ length: 3 }, (_, index) => `role:${index}${'x'.repeat(400)}`),
    };
    const approval = { approvers: [{ subjects: ['role:a'], escalate }] };
    const refused = await create('asks', '1', { effect: 'require_approval', approval });
    expect([refused.status, refused.body.error.message]).toEqual([409, expect.stringContaining('MAX_POLICY_TEXT')]);
  });

  it('have at most 100,000 patterns, those of a plan and of approvers included', async () => {
    await start({});
    const texts = (prefix: string): string[] => Array.from({ length: 100 }, (_, at) => `${prefix}${at}`);
    const policies = Array.from({ length: 250 }, (_, index) => {
      const lists = { subjects: texts('s'), actions: texts('a'), resources: texts('r'), resourceTypes: texts('t') };
      return { ...RULES, ...lists, name: `large ${index}`, version: '1' };
    });
    const set = (action: string, policySet: object[], more: object = {}): Promise<Answer> =>
      send(app, 'POST', `${POLICIES}/${action}`, { body: { policies: policySet, ...more } });
    const small = { ...RULES, name: 'small', version: '1' };
    const approval = { approvers: [{ subjects: texts('role:') }] };
    const approved = { ...small, effect: 'require_approval', approval };
    for (const [more, patterns] of [
      [small, 100_003],
      [approved, 100_103],
    ] as const) {
      const { status, body } = await set('plan', [...policies, more]);
      expect([status, body.error.message]).toEqual([409, expect.stringContaining(`${patterns} patterns`)]);
    }
    const { body } = await set('plan', policies.slice(0, 1));
    expect((await set('apply', policies, { base: body.base })).status).toBe(200);
    expect((await create('small')).body.error.message).toContain('100003 patterns');
    expect((await create('large 0', '2')).status).toBe(201);
    expect((await create('small')).status).toBe(201);
  });

  it('have at most 50,000 conditions', async () => {
    await start({});
    const conditions = Array.from({ length: 20 }, () => ({ parameter: '/a', op: 'ne', value: 1 }));
    const policies = Array.from({ length: 2_500 }, (_, index) => ({
      ...{ ...RULES, name: `large ${index}`, version: '1', conditions },
    }));
    const { base } = (await send(app, 'POST', `${POLICIES}/plan`, { body: { policies: [] } })).body;
    const { status } = await send(app, 'POST', `${POLICIES}/apply`, { body: { base, policies } });
    expect(status).toBe(200);
    expect((await create('one more', '1', { conditions: conditions.slice(0, 1) })).body.error.message).toContain(
      '50001 conditions in force are more than the 50000 that may be',
    );
    expect((await create('without')).status).toBe(201);
  });

  it('from before a limit was lowered stay, decide, and are reported at the start; none can be added', async () => {
    await start({});
    await createAgent(app, { name: 'bot', capabilities: ['read'] });
    for (const name of ['a', 'b', 'c']) await createPolicy(app, { name, version: '1' });
    await app.close();
    await start({ MAX_POLICIES: '2', MAX_POLICY_TEXT: '2' });
    expect(log.join('')).toContain(
      '3 policies in force are more than the 2 that MAX_POLICIES allows. They remain in force',
    );
    const body = { action: 'read', resourceType: 'file', resourceId: 'a' };
    expect((await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body.policies).toHaveLength(3);
    expect((await create('d')).status).toBe(409);
    expect((await create('a', '2')).status).toBe(201);
  });

  it('may each have 100 patterns of 64 segments: a hundred of them take little memory', async () => {
    await start({});
    const deep = (index: number): string[] =>
      Array.from({ length: 100 }, (_, at) =>
        [`${index}-${at}`, ...Array.from({ length: 63 }, (_, depth) => `${depth}abc`)].join('/'),
      );
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 100; index += 1)
      expect((await create(`deep ${index}`, '1', { effect: 'deny', resources: deep(index) })).status).toBe(201);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(140 * 1024 * 1024);
    await app.close();
    await start({});
    await createAgent(app, { name: 'bot', capabilities: ['read'] });
    const body = { action: 'read', resourceType: 'file', resourceId: deep(99)[99] };
    expect((await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body.error.reason).toBe('policy_denied');
  });
});
