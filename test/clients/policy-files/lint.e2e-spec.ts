import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { ROOT } from '../../support/documents/markdown';
import { type Parsed, send } from '../../support/application/send';
import type { ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov } from '../command-line';

const RULES = { version: '1', effect: 'allow', subjects: ['role:support'], actions: ['refund'], resources: ['*'] };
const POINTER = '/amount';
const ZONE = 'Europe/Berlin';

const SPAN = { clock: ZONE, op: 'between', value: ['08:00', '09:00'] };

const FAULTY: readonly object[] = [
  { op: 'eq', value: 1 },
  { parameter: 'amount', op: 'eq', value: 1 },
  { parameter: '/a~2', op: 'eq', value: 1 },
  { parameter: '/*/*', op: 'eq', value: 1 },
  { parameter: '/a/*', op: 'exists', value: true },
  { parameter: POINTER, op: 'exists', value: 'yes' },
  { parameter: POINTER, op: 'prefix', value: 1 },
  { parameter: POINTER, op: 'within', value: true },
  { parameter: POINTER, op: 'within', value: '/srv/*' },
  { parameter: POINTER, op: 'in', value: [] },
  { parameter: POINTER, op: 'not_in', value: 'a' },
  { parameter: POINTER, op: 'in', value: [[1]] },
  { parameter: POINTER, op: 'in', value: Array.from({ length: 101 }, (_, index) => index) },
  { parameter: POINTER, op: 'lt', value: '1' },
  { parameter: POINTER, op: 'gte', value: null },
  { parameter: POINTER, op: 'eq', value: [1] },
  { parameter: POINTER, op: 'eq', value: { parameter: 'due' } },
  { parameter: POINTER, op: 'lte', value: { parameter: '/*' } },
  { parameter: POINTER, op: 'lte', value: {} },
  { parameter: POINTER, op: 'in', value: { parameter: '/due' } },
  { parameter: POINTER, op: 'between', value: ['08:00', '09:00'] },
  { parameter: POINTER, op: 'eq', value: 1, days: ['mon'] },
  { clock: ZONE, op: 'eq', value: ['08:00', '09:00'] },
  { clock: ZONE, op: 'between', value: ['8:00', '09:00'] },
  { clock: ZONE, op: 'between', value: ['08:00', '24:01'] },
  { clock: ZONE, op: 'between', value: ['08:00'] },
  { clock: ZONE, op: 'between', value: ['08:00', '09:00', '10:00'] },
  { clock: ZONE, op: 'between', value: ['08:00', '08:00'] },
  { clock: ZONE, op: 'between', value: ['24:00', '00:00'] },
  { clock: '+02:00', op: 'between', value: ['08:00', '09:00'] },
  { clock: 'Europe/Atlantis', op: 'between', value: ['08:00', '09:00'] },
  { clock: ZONE, parameter: POINTER, op: 'between', value: ['08:00', '09:00'] },
  { claim: 'a', op: 'supports', parameter: POINTER, value: 2 },
  { claim: 'a', op: 'eq', parameter: POINTER, value: 1 },
  { claim: 'a', op: 'supports', parameter: '/a/*', value: 1 },
  { claim: 'a', op: 'supports', value: 1 },
  { parameter: POINTER, op: 'supports', value: 1 },
  { earlier: 'a*b', op: 'exists', value: true },
  { earlier: 'a', op: 'eq', value: true },
  { earlier: 'a', op: 'exists', value: 'yes' },
  { earlier: 'a', parameter: POINTER, op: 'exists', value: true },
  { parameter: POINTER, resource: 'same', op: 'exists', value: true },
  { parameter: POINTER, within: 'P1D', op: 'exists', value: true },
  { claim: 'a', op: 'supports', parameter: POINTER, value: 1, within: 'P1D' },
  { clock: ZONE, op: 'between', value: ['08:00', '09:00'], within: 'P1D' },
  ...['acme.example', [], ['ACME.example'], ['bücher.example'], ['127.0.0.1'], ['a.example.'], [5]].map((value) => ({
    parameter: POINTER,
    op: 'domain',
    value,
  })),
  { principal: 'id', op: 'prefix', value: 'a' },
  { principal: 'id', op: 'eq', value: 'cafe\u0301' },
  { principal: 'id', op: 'eq', value: { principal: 'roles' } },
  { principal: 'id', resource: 'last', op: 'eq', value: 'a' },
  { resource: 'last', op: 'eq', value: { resource: 'last', parameter: '/a' } },
  { resource: 'same', op: 'eq', value: 'a' },
  { earlier: 'a', resource: 'last', op: 'exists', value: true },
  { parameter: POINTER, op: 'lt', value: { principal: 'id' } },
  { parameter: POINTER, op: 'eq', except: ['2026-12-25'], value: 1 },
  ...['2026-02-30', '25.12.2026'].map((date) => ({ ...SPAN, except: ['2026-12-24', date] })),
  { ...SPAN, except: ['2026-12-25', '2026-12-25'] },
  ...['P8D', 'PT0S', 'P', '4h', 'P2W', 'PT169H'].map((within) => ({ earlier: 'a', within, op: 'exists', value: true })),
];
const SOUND: readonly object[] = [
  { ...SPAN, except: ['2026-12-25', '2028-02-29'] },
  { parameter: POINTER, op: 'domain', value: ['acme.example', 'xn--bcher-kva.example'] },
  { principal: 'id', op: 'eq', value: { resource: 'last' } },
  { principal: 'type', op: 'not_in', value: ['customer'] },
  { resource: 'last', op: 'exists', value: true },
  { parameter: POINTER, op: 'ne', value: { principal: 'id' } },
  { parameter: '/a~1b/*/~0', op: 'ne', value: null },
  { parameter: POINTER, op: 'gt', value: { parameter: '/due' } },
  { parameter: POINTER, op: 'in', value: [1, 'a', null, true] },
  { parameter: POINTER, op: 'within', value: 'https://example.com' },
  { parameter: POINTER, op: 'exists', value: false },
  { clock: 'europe/berlin', op: 'between', value: ['22:00', '06:00'], days: ['mon', 'tue'] },
  { clock: 'UTC', op: 'between', value: ['00:00', '24:00'], days: null },
  { claim: 'iban', op: 'supports', parameter: POINTER, value: 0.9 },
  { earlier: 'web.*', resource: 'same', op: 'exists', value: false },
  ...['PT1S', 'P7D', 'P1W', 'P1DT12H', 'PT168H'].map((within) => ({ earlier: 'a', within, op: 'exists', value: true })),
];
const FAULTY_PATTERNS: readonly object[] = [
  ...['role:', 'role: ', ' ', '**', 'role:a*', 'bot*', 'u*:*', 'kind:person', 'kind:', 'role:cafe\u0301'].map(
    (one) => ({
      subjects: ['role:a', one],
    }),
  ),
  ...[' ', 'a*b', '**', '*a', 'cafe\u0301'].map((action) => ({ actions: ['a', action] })),
  ...['a*', '*a', 'a/*/b', 'a//b', 'a/', '//a', '.', 'a/../b', 'a /b', 'a\\b', 'a/b?c', 'https://h/a*', '//*'].map(
    (one) => ({
      resources: ['a', one],
    }),
  ),
  ...['a*', 'a/b', '.', ' a', 'cafe\u0301'].map((type) => ({ resourceTypes: ['a', type] })),
  { effect: 'require_approval', approval: { approvers: [{ subjects: ['role:a', 'role:a*'] }] } },
];
const SOUND_PATTERNS: readonly object[] = [
  { subjects: ['*', 'role:*', 'agent:*', 'user:*', 'user:x', 'kind:human', 'kind:machine', ':x', 'caf\u00e9 bot'] },
  { actions: ['*', 'read*', 'github.*', 'decision:approve'] },
  { resources: ['*', '/*', '/a', 'a/*', 'https://h/a', 'https://h/*', 'What is this?', '50% off', 'a:b/c', '...'] },
  { resourceTypes: ['a.b', 'decision'] },
  { resourceTypes: null, approval: null },
  { effect: 'require_approval', approval: { approvers: [{ subjects: ['role:a'] }] } },
];

describeOnSqlite('gov policies lint', () => {
  let app: TestApp;
  let folder: string;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gov-lint-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  afterAll(() => app.close());

  function lint(content: object): Promise<ProgramRun> {
    const path = join(folder, 'a.json');
    writeFileSync(path, JSON.stringify(content));
    return gov(['policies', 'lint', path], { environment: { XDG_CONFIG_HOME: folder }, folder });
  }

  const policies = (...overrides: readonly object[]): object[] =>
    overrides.map((policy, index) => ({ ...RULES, name: `p${index}`, ...policy }));

  async function warnings(content: object): Promise<string[]> {
    const { exitCode, errors } = await lint(content);
    expect(exitCode).toBe(0);
    return errors
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.replace(/^Warning: \S+: /, ''));
  }

  it('takes the time of a test, and refuses what is not one', async () => {
    const test = { subject: {}, action: 'a', resourceType: 't', resourceId: 'r', expect: 'deny' };
    expect((await lint({ tests: [{ ...test, at: '2026-11-20T09:00:00Z' }] })).exitCode).toBe(0);
    const { exitCode, errors } = await lint({ tests: [{ ...test, at: 'noon' }] });
    expect([exitCode, errors]).toEqual([
      1,
      expect.stringContaining('tests[0].at must be an RFC 3339 time with a zone'),
    ]);
  });

  const ASKED = { action: 'a', resourceType: 't', resourceId: 'r', expect: 'deny' };
  const SINCE = { earlier: 'web.*', resource: 'other', op: 'exists', value: true };
  const UNNAMED = { version: '1', effect: 'deny', subjects: ['*'], actions: ['a'], resources: ['*'] };
  it.each<[object, string]>([
    [
      { tests: [ASKED] },
      'tests[0] needs who asks: agent, the name of an agent, or subject, such as { kind: machine, roles: [support] }',
    ],
    [{ tests: [{ ...ASKED, agent: 'a', subject: {} }] }, 'tests[0] has both agent and subject: only one can ask'],
    [{ tests: [{ ...ASKED, agnet: 'a' }] }, 'tests[0].agnet is not known here: did you mean agent?'],
    [{ tests: [{ ...ASKED, agent: 3 }] }, 'tests[0].agent must be text, so put it in quotes'],
    [
      { policies: [{ ...RULES, name: 'p', conditions: [SINCE] }] },
      'policies[0].conditions[0].resource must be one of same, last, or be left out',
    ],
    [{ policies: [UNNAMED] }, 'policies[0] needs name, such as collections-may-remind'],
    [
      { policies: [{ ...UNNAMED, name: 'p', effect: undefined }] },
      'policies[0] needs effect: one of allow, require_approval, deny',
    ],
    [{ policies: [{ ...UNNAMED, name: 'p', actions: 'a' }] }, 'policies[0].actions must be a list'],
    [{ policies: [{ ...UNNAMED, name: 'p', actions: [] }] }, 'policies[0].actions must have at least one item'],
    [{ policy: [] }, 'policy is not known here: did you mean policies?'],
    [{ polices: [] }, 'polices is not known here: did you mean policies?'],
    [{}, 'the file must have policies, tests or agents'],
  ])('says of a mistake once what would be right: %j', async (content, message) => {
    const { exitCode, errors } = await lint(content);
    const lines = errors.trimEnd().split('\n');
    expect([exitCode, lines.map((line) => line.replace(/^\S+: /, ''))]).toEqual([1, [message]]);
  });

  it.each([
    ['condition', [...FAULTY].map((one) => ({ conditions: [one] })), [...SOUND].map((one) => ({ conditions: [one] }))],
    ['pattern', FAULTY_PATTERNS, SOUND_PATTERNS],
  ])('refuses each %s that the service refuses', async (_, faulty, sound) => {
    const all = policies(...faulty, ...sound);
    const places = (texts: readonly string[]): string[] =>
      [...new Set(texts.map((text) => /policies\[\d+\]\.[^ ]*?\[\d\]/.exec(text)?.[0] ?? text))].sort();
    const { body } = await send(app, 'POST', '/api/v1/policies/plan', { body: { policies: all } });
    const refused = places(body.error.details.map(({ field }: Parsed) => field));
    expect(refused).toHaveLength(faulty.length);
    const { exitCode, errors } = await lint({ policies: all });
    expect(exitCode).toBe(1);
    expect(places(errors.trim().split('\n'))).toEqual(refused);
  });

  it('warns of amounts without a lower bound', async () => {
    const limit = { parameter: POINTER, op: 'lte', value: 50 };
    const text = 'policies[0].conditions leave /amount without a lower bound: zero and negative numbers are allowed. ';
    const open = await warnings({ policies: policies({ conditions: [limit] }) });
    expect(open).toEqual([`${text}Add one with "gt" or "gte"`]);
    const closed = [
      { conditions: [limit, { parameter: POINTER, op: 'gt', value: 0 }] },
      { effect: 'deny', conditions: [limit] },
      { conditions: [limit], limits: [{ max: 500, of: POINTER, per: 'day', by: 'agent' }] },
    ];
    expect(await warnings({ policies: policies(...closed) })).toEqual([]);
  });

  it('warns of prefixes of what goes on behind them', async () => {
    const conditions = [
      { parameter: '/to', op: 'prefix', value: 'ann@' },
      { parameter: '/path', op: 'prefix', value: '/srv' },
      { parameter: '/name', op: 'prefix', value: 'a' },
    ];
    expect(await warnings({ policies: policies({ conditions }) })).toEqual([
      'policies[0].conditions[0] checks only how /to begins: what an address belongs to stands at its end: use "domain"',
      'policies[0].conditions[1] does not check a path or URL: with "..", what begins with "/srv" leads elsewhere. Use "within"',
    ]);
  });

  it('warns of what looks at a value that is usually secret', async () => {
    const conditions = [
      { parameter: '/card/api_key', op: 'eq', value: 'a' },
      { parameter: '/token', op: 'exists', value: true },
      { parameter: '/token/kind', op: 'exists', value: true },
      { parameter: '/name', op: 'eq', value: { parameter: '/password' } },
    ];
    const limits = [{ max: 1, of: '/secret', per: 'day', by: 'agent' }];
    expect(await warnings({ policies: policies({ conditions, limits }) })).toEqual(
      [
        ['conditions[0]', '/card/api_key'],
        ['conditions[2]', '/token'],
        ['conditions[3]', '/password'],
        ['limits[0]', '/secret'],
      ].map(
        ([part, pointer]) =>
          `policies[0].${part} looks at ${pointer} (secret_parameter): unless SECRET_PARAMETERS says otherwise, its value is replaced ` +
          'before policies see it. An allow never matches, a deny always does',
      ),
    );
  });

  it('warns of approvals that the people of the files cannot give', async () => {
    const asks = (...approvers: object[]): object => ({ effect: 'require_approval', approval: { approvers } });
    const all = policies(
      asks({ subjects: ['role:lead'] }, { subjects: ['role:finance'] }),
      asks({ subjects: ['role:finance'], approvals: 2 }),
      asks({ subjects: ['role:finance'], signed: true }),
      asks({ subjects: ['principal'], approvals: 2 }),
      asks({ subjects: ['role:hr'], escalate: { after: 'PT1H', subjects: ['role:lead'] } }),
    );
    const agents = [
      { name: 'ann', kind: 'human', roles: ['lead', 'finance'] },
      { name: 'bot', roles: ['finance'] },
    ];
    const short = (index: number): string =>
      `policies[${index}].approval.approvers need 2 approvals, each of another reviewer, and the agents of these files can give 1 ` +
      'of them: others have to be registered';
    expect(await warnings({ policies: all, agents })).toEqual([short(0), short(1), short(3)]);
    const more = [...agents, { name: 'bob', kind: 'human', roles: ['finance'] }];
    expect(await warnings({ policies: all, agents: more })).toEqual([short(3)]);
    expect(await warnings({ policies: all, agents: agents.slice(1) })).toEqual([]);
  });

  it('warns of names that are similar to those of others in the files', async () => {
    const usual = { subjects: ['role:support', 'refund-bot'], actions: ['refund-order', 'read_*'] };
    const slips = {
      subjects: ['role:suport', 'role:refund-bot', 'agent:Refund_Bot', 'role:team-1', 'role:other', 'user:x', '*'],
      actions: ['refund-ordr', 'refund-oredr', 'read_mail', 'transfer', '*'],
    };
    const slip = (list: string, name: string, suggestion: string): string =>
      `policies[2].${list} names "${name}", which nothing else here does: did you mean "${suggestion}"?`;
    expect(await warnings({ policies: policies(usual, usual, slips) })).toEqual([
      slip('subjects[0]', 'role:suport', 'role:support'),
      slip('subjects[1]', 'role:refund-bot', 'agent:refund-bot'),
      slip('subjects[2]', 'agent:Refund_Bot', 'agent:refund-bot'),
      slip('actions[0]', 'refund-ordr', 'refund-order'),
      slip('actions[1]', 'refund-oredr', 'refund-order'),
    ]);
    const agents = [{ name: 'clerk', roles: ['finance'], capabilities: ['pay'] }];
    const rules = { subjects: ['role:finanec', 'clerk'], actions: ['pay', 'Pay'] };
    expect(await warnings({ policies: policies(rules), agents })).toEqual([
      'policies[0].subjects[0] names "role:finanec", which nothing else here does: did you mean "role:finance"?',
      'policies[0].actions[1] names "Pay", which nothing else here does: did you mean "pay"?',
    ]);
    const numbered = Array.from({ length: 4 }, (_, at) => ({ subjects: [`role:team-${at % 3}`] }));
    expect(await warnings({ policies: policies(...numbered) })).toEqual([]);
  });

  it('warns of nothing in the examples', async () => {
    const examples = join(ROOT, 'examples', 'policies');
    const environment = { XDG_CONFIG_HOME: folder };
    expect(await gov(['policies', 'lint', examples], { environment })).toMatchObject({ exitCode: 0, errors: '' });
  });
});
