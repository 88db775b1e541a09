import Ajv from 'ajv';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { readDocument, ROOT } from '../support/documents/markdown';
import { type Answer, type Parsed, send } from '../support/application/send';
import { run } from '../support/processes/shell';

interface PolicyFile {
  readonly policies?: readonly { readonly name: string }[];
  readonly tests?: readonly { readonly by?: string }[];
}

const FOLDER = join(ROOT, 'examples', 'policies');
const NAMES = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
const FILES = NAMES.map((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as PolicyFile);
const policies = FILES.flatMap((file) => file.policies ?? []);
const tests = FILES.flatMap((file) => file.tests ?? []);

const isPolicyFile = new Ajv({ strict: false, formats: { 'date-time': true, date: true } }).compile(
  JSON.parse(readDocument('policies.schema.json')) as object,
);

describe('policies.schema.json', () => {
  const POLICY = { name: 'n', version: '1', effect: 'allow', subjects: ['*'], actions: ['a'], resources: ['r'] };
  const TEST = { subject: {}, action: 'a', resourceType: 't', resourceId: 'r', expect: 'allow' };

  it('is generated from what the service accepts (`npm run openapi` brings it up to date)', async () => {
    const { output, errors } = await run(process.execPath, ['scripts/write-policies-schema.mjs', '--check'], {
      folder: ROOT,
    });
    expect(output + errors).toBe('');
  });

  it.each(NAMES)('describes examples/policies/%s', (name) => {
    isPolicyFile(FILES[NAMES.indexOf(name)]);
    expect(isPolicyFile.errors).toBeNull();
  });

  it.each([
    ['the least', { policies: [POLICY], tests: [TEST] }],
    ['null for what is left out', { policies: [{ ...POLICY, approval: null, priority: null }] }],
    ['approval', { policies: [{ ...POLICY, effect: 'require_approval', approval: {} }] }],
    ['null for the other subject', { tests: [{ ...TEST, subject: null, agent: 'bot', by: null }] }],
    [
      'a condition on anything',
      { policies: [{ ...POLICY, conditions: [{ parameter: '/a', op: 'eq', value: null }] }] },
    ],
  ])('takes %s, as the service does', async (_, file: Parsed) => {
    isPolicyFile(file);
    expect(isPolicyFile.errors).toBeNull();
    expect((await planned({ policies: [], ...file, tests: [] })).status).toBe(200);
  });

  it.each([
    ['an approval with another effect', { policies: [{ ...POLICY, approval: {} }] }],
    ['an unknown member', { policies: [{ ...POLICY, priorty: 7 }] }],
    ['an unknown effect', { policies: [{ ...POLICY, effect: 'permit' }] }],
    ['no subjects', { policies: [{ ...POLICY, subjects: [] }] }],
    ['an unknown operator', { policies: [{ ...POLICY, conditions: [{ parameter: '/a', op: 'is', value: 1 }] }] }],
    ['a test of nobody', { policies: [], tests: [{ ...TEST, subject: null }] }],
    ['a test of two', { policies: [], tests: [{ ...TEST, agent: 'bot' }] }],
    ['a test of an unknown effect', { policies: [], tests: [{ ...TEST, expect: 'no_policy' }] }],
    ['an unknown member of a test', { policies: [], tests: [{ ...TEST, name: 'first' }] }],
  ])('refuses %s, as the service does', async (_, file) => {
    expect(isPolicyFile(file)).toBe(false);
    expect((await planned(file)).status).toBe(400);
  });

  it('refuses an empty file, and unknown members of a file', () => {
    expect(isPolicyFile({})).toBe(false);
    expect(isPolicyFile({ policies: [POLICY], prune: true })).toBe(false);
  });
});

describe('examples/policies', () => {
  it('are one set of some forty policies, each of which decides a test', () => {
    const names = policies.map(({ name }) => name);
    expect(names.length).toBeGreaterThanOrEqual(40);
    expect(new Set(names).size).toBe(names.length);
    const decisive = new Set(tests.map(({ by }) => by));
    expect(names.filter((name) => !decisive.has(name))).toEqual([]);
  });

  it('pass their tests before they are applied, and change nothing if they are applied again', async () => {
    const { body: plan } = await planned({ policies, tests });
    expect(plan.tests).toEqual({ passed: tests.length, failed: [] });
    expect(plan).toMatchObject({ complete: true, reason: null, shadowed: [] });
    const { base } = plan;
    const applied = await send(app, 'POST', '/api/v1/policies/apply', { body: { base, policies } });
    expect(applied.body.changes.every(({ change }: Parsed) => change === 'create')).toBe(true);
    const { body: again } = await planned({ policies, tests, prune: true });
    expect(again.changes.every(({ change }: Parsed) => change === 'keep')).toBe(true);
    expect(again).toMatchObject({ effects: [], complete: true, tests: { failed: [] } });
  });
});

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app.close());

function planned(body: object): Promise<Answer> {
  return send(app, 'POST', '/api/v1/policies/plan', { body });
}
