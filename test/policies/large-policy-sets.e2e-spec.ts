import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createPolicy, issueKey, policySetOf } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';

const MANY = 3_000;
const POLICIES = Array.from({ length: MANY }, (_, index) => ({
  ...{ name: `policy ${index}`, version: '1', effect: 'allow' },
  ...{ subjects: ['*'], actions: [`action-${index}`], resources: [`folder-${index}/*`] },
}));
const CHANGED = { ...POLICIES[0], effect: 'deny' };

describe('A large set of policies', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    expect((await apply(await policySetOf(app), POLICIES)).status).toBe(200);
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const plan = (policies: readonly object[]): Promise<Answer> =>
    send(app, 'POST', '/api/v1/policies/plan', { body: { policies } });
  const apply = (base: string, policies: readonly object[]): Promise<Answer> =>
    send(app, 'POST', '/api/v1/policies/apply', { body: { base, policies } });

  /** Issues keys as long as the work takes. */
  async function whileKeysAreIssued<Result>(work: Promise<Result>): Promise<Result> {
    const over = new AbortController();
    const end = (): void => over.abort();
    work.then(end, end);
    let issued = 0;
    const issueKeys = async (): Promise<void> => {
      for (; !over.signal.aborted; issued += 1) await issueKey(app, { name: `key ${issued}`, scopes: ['read'] });
    };
    await Promise.all(Array.from({ length: 10 }, issueKeys));
    expect(issued).toBeGreaterThan(0);
    return work;
  }

  it('is planned and applied while keys are issued all the time', async () => {
    const policies = [{ ...CHANGED, version: '2' }];
    const planned = await whileKeysAreIssued(plan(policies));
    expect(planned.status).toBe(200);
    const applied = await whileKeysAreIssued(apply(planned.body.base, policies));
    expect(applied.status).toBe(200);
  });

  it('is taken out of force in parts if it is long', async () => {
    const value = Array.from({ length: 90 }, (_, at) => `${at}`.padEnd(10_000, 'x'));
    const condition = { parameter: '/to', op: 'in', value };
    for (const name of POLICIES.slice(0, 10).map((policy) => policy.name))
      await createPolicy(app, { ...CHANGED, name, version: 'long', conditions: [condition] });
    const { base } = (await plan([])).body;
    const prune = (policies: readonly object[]): Promise<Answer> =>
      send(app, 'POST', '/api/v1/policies/plan', { body: { policies, prune: true } });
    const all = await prune([]);
    expect(all.status).toBe(409);
    expect(all.body.error.message).toMatch(/^9\d{6} bytes of patterns would go out of force, more than the 8388608 /);
    const applied = await send(app, 'POST', '/api/v1/policies/apply', { body: { base, policies: [], prune: true } });
    expect(applied.status).toBe(409);
    // A replaced policy is written anew like a removed one.
    const short = POLICIES.slice(0, 10).map((policy) => ({ ...policy, version: 'short' }));
    expect((await prune(short)).status).toBe(409);
    expect((await plan(short)).status).toBe(409);
    const replaced = await send(app, 'POST', '/api/v1/policies/apply', { body: { base, policies: short } });
    expect(replaced.status).toBe(409);
    expect(replaced.body.error.message).toMatch(/^9\d{6} bytes of patterns would go out of force, /);
    expect((await plan(short.slice(0, 5))).status).toBe(200);
  });

  it('has the first 1,000 warnings: all of them would be many times as long as the request', async () => {
    const policies = Array.from({ length: 11 }, (_, index) => {
      return { ...CHANGED, name: `warned ${index}`, subjects: Array<string>(100).fill('a/') };
    });
    const { warnings } = (await plan(policies)).body;
    expect(warnings).toHaveLength(1_001);
    expect(warnings.slice(-2)).toEqual([
      expect.stringMatching(/^warned 9 \(version 1\): /),
      expect.stringContaining('first 1000'),
    ]);
    expect((await plan(policies.slice(0, 10))).body.warnings).toHaveLength(1_000);
  });

  it('is applied by one of many who try, and the others plan again or wait', async () => {
    const { base } = (await plan([])).body;
    const versions = Array.from({ length: 40 }, (_, index) => `many-${index}`);
    const answers = await Promise.all(versions.map((version) => apply(base, [{ ...CHANGED, version }])));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    for (const { status, headers } of answers.filter((answer) => answer.status !== 200)) {
      expect([412, 503]).toContain(status);
      if (status === 503) expect(headers.get('retry-after')).toBe('5');
    }
  });

  it('is refused to all whose base is no longer in force, however many they are', async () => {
    const old = '0'.repeat(64);
    const answers = await Promise.all(POLICIES.slice(0, 40).map((policy) => apply(old, [policy])));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([412]));
  });
});
