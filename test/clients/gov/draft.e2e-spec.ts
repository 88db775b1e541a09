import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy } from '../../support/application/factories';
import { type Answer, send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import type { ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov as runGov } from '../command-line';

type RequestedAction = readonly [
  action: string,
  resourceType: string,
  resourceId: string,
  parameters: object,
  forWhom?: string,
];

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

const REFUND: RequestedAction = ['refund', 'payment', 'orders/2', { amount: 1234, currency: 'USD' }];
/** Actions of the agent while it is observed. */
const DONE: readonly RequestedAction[] = [
  REFUND,
  ...numbers(6).map((n): RequestedAction => ['refund', 'payment', `orders/${n}`, { amount: n * 7.5, currency: 'EUR' }]),
  ['refund', 'payment', '/special/9', { amount: 0, currency: 'EUR', note: 'so' }],
  ...numbers(7).map((n): RequestedAction => ['read', 'ticket', `tickets/${n}/lines/1`, {}]),
  ...numbers(4).map((n): RequestedAction => ['read', 'ticket', `archive/${n}`, { deep: { 'a/b': true, tags: [n] } }]),
  ...numbers(6).map((n): RequestedAction => [
    'fetch',
    'url',
    `https://api.example.com/v1/items/${n}`,
    { text: `t${n}` },
  ]),
  ['fetch', 'url', 'https://other.example.com/x', { text: null }],
  ['read', 'ticket', 'stars/a*b', {}],
  ['read', 'ticket', 'c*d', {}],
  ['notify', 'order', 'orders/1', {}, 'user:4711'],
  ...numbers(6).map((n): RequestedAction => ['notify', 'order', 'orders/2', {}, `tenant:${n}`]),
  ...numbers(6).map((n): RequestedAction => ['serve', 'customer', `customers/c${n}`, {}, `customer:c${n}`]),
  ...numbers(6).map((n): RequestedAction => [
    'mail',
    'mail',
    'mails/1',
    { to: `a${n}@Eu.acme.example`, token: `t${n}` },
  ]),
  ['mail', 'mail', 'mails/1', { to: 'https://shop.example/x', token: 't' }],
  ['write', 'Größe "x"', 'a b%20c', { '*': 1, '~/': -0.000123, big: 1e21, largest: Number.MAX_VALUE }],
];
/** Actions that it did not perform. */
const OTHERS: readonly RequestedAction[] = [
  ['refund', 'payment', 'orders/1', { amount: 1301, currency: 'EUR' }],
  ['refund', 'payment', 'orders/1', { amount: -1, currency: 'EUR' }],
  ['refund', 'payment', 'orders/1', { amount: 1, currency: 'GBP' }],
  ['refund', 'payment', 'special/8', { amount: 0, currency: 'EUR', note: 'so' }],
  ['refund', 'payment', 'orders', { amount: 1, currency: 'EUR' }],
  ['read', 'ticket', 'archive/5', { deep: { 'a/b': true, tags: [1] } }],
  ['read', 'ticket', 'archive/1', { deep: { 'a/b': false, tags: [1] } }],
  ['read', 'payment', 'tickets/1/lines/1', {}],
  ['fetch', 'url', 'https://api.example.com/v2/items/1', { text: 't1' }],
  ['fetch', 'url', 'https://other.example.com/y', { text: null }],
  ['delete', 'ticket', 'archive/1', {}],
  ['notify', 'order', 'orders/1', {}],
  ['notify', 'order', 'orders/1', {}, 'user:4712'],
  ['notify', 'order', 'orders/2', {}, 'user:4711'],
  ['serve', 'customer', 'customers/c1', {}, 'customer:c2'],
  ['mail', 'mail', 'mails/1', { to: 'a1@evil.example', token: 't1' }],
];

describeOnSqlite('gov draft', () => {
  let app: TestApp;
  const folder = mkdtempSync(join(tmpdir(), 'draft-'));

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    await createPolicy(app, { subjects: ['nobody'] });
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  const gov = (...words: readonly string[]): Promise<ProgramRun> =>
    runGov(words, { environment: { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY } });
  const execute = ([action, resourceType, resourceId, parameters, subject]: RequestedAction): Promise<Answer> =>
    send(app, 'POST', '/api/v1/agents/bot/execute', {
      body: { action, resourceType, resourceId, parameters, ...(subject !== undefined && { onBehalfOf: { subject } }) },
    });

  it('writes policies that allow what was observed and nothing else', async () => {
    expect((await gov('agents', 'set', 'bot', '--observe', 'P7D')).output).toMatch(/observed {6}until \d{4}-/);
    expect((await gov('agents')).output).toContain('active, observed');
    for (const request of DONE)
      expect((await execute(request)).body).toMatchObject({ outcome: 'authorized', observed: true });
    const out = join(folder, 'policies');
    const drafted = await gov('draft', '--agent', 'bot', '--out', out);
    expect([drafted.exitCode, drafted.errors]).toEqual([0, '']);
    expect(drafted.output).toContain(`from ${DONE.length} observed executions written to`);
    expect(drafted.output).toContain(`gov policies plan ${out}`);
    expect(await gov('policies', 'lint', out)).toMatchObject({ exitCode: 0 });
    const ended = await gov('agents', 'set', 'bot', '--observe', 'none');
    expect([ended.exitCode, ended.errors, ended.output]).toEqual([0, '', expect.not.stringContaining('observed')]);
    expect((await execute(REFUND)).status).toBe(403);
    expect(await gov('policies', 'apply', out, '--yes')).toMatchObject({ exitCode: 0 });
    const answers = [];
    for (const request of DONE) answers.push([request, (await execute(request)).status]);
    expect(answers).toEqual(DONE.map((request) => [request, request[2] === 'c*d' ? 403 : 200]));
    const others = [];
    for (const request of OTHERS) others.push([request, (await execute(request)).body.error?.reason]);
    expect(others).toEqual(OTHERS.map((request) => [request, 'no_policy_allows']));
  });

  it('says how often each was seen, what is left open, and what no pattern can name', () => {
    const files = readdirSync(join(folder, 'policies')).map((name) =>
      readFileSync(join(folder, 'policies', name), 'utf8'),
    );
    const text = files.join('\n');
    expect(text).toContain('# Drafted from 7 observed executions. Read it before it is applied.');
    expect(text).toContain('# Open: "/text has 6 different values".');
    expect(text).toContain('# Open: "/deep/tags is a list".');
    expect(text).toContain('# Not allowed, as no pattern can name it: "c*d".');
    expect(text).toContain('# Open: for each "tenant".');
    expect(text).toContain('# Open: "/token is a secret".');
    expect(text).not.toContain('$secret');
    expect(text).toContain('orders/*');
    expect(text).toContain('value: 1300');
  });

  it('overwrites nothing, and says where nothing was observed', async () => {
    const again = await gov('draft', '--agent', 'bot', '--out', join(folder, 'policies'));
    expect([again.exitCode, again.errors]).toEqual([1, expect.stringContaining('Nothing was written')]);
    const earlier = await gov('draft', '--agent', 'bot', '--since', 'PT0S', '--out', join(folder, 'none'));
    expect([earlier.exitCode, earlier.errors]).toEqual([1, expect.stringContaining('Nothing that bot did')]);
    expect((await gov('draft', '--agent', 'bot', '--since', '7d')).errors).toContain('such as P7D');
  });
});
