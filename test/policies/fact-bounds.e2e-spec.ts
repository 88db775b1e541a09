import { PostgresConnection } from '../../src/ledger/database/postgres/postgres-connection';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import type { SqlConnection, SqlValue } from '../../src/ledger/database/sql-connection';
import { PolicyEvaluator } from '../../src/governance/policies/evaluation/policy-evaluator';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createEntity, createPolicy } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { onPostgres } from '../support/database/database-kind';

const BOUND = 1_000;
/** Facts that one question needs, so that the bound is reached within the 50 questions that can be explained. */
const PER_QUESTION = 25;

type Rules = Readonly<Record<'limits' | 'conditions', readonly object[]>>;

const EARLIER = { earlier: 'look-*', op: 'exists', value: true };
const CLAIM = { op: 'supports', parameter: '/iban', value: 0.9 };

/** Rules with so many facts of one kind, for policies that have no more than a policy may. */
const KINDS = {
  ...Object.fromEntries(
    (['agent', 'policy'] as const).map((by) => [
      `limits by ${by}`,
      (facts: number) => split(facts, 4, (index) => ({ limits: [{ max: 9, per: PERIODS[index] ?? 'day', by }] })),
    ]),
  ),
  earlier: (facts) => split(facts, 20, (index) => ({ conditions: [{ ...EARLIER, earlier: `look-${index}` }] })),
  'earlier on the same resource': (facts) =>
    split(facts, 20, (index) => ({ conditions: [{ ...EARLIER, earlier: `look-${index}`, resource: 'same' }] })),
  claim: (facts) => split(facts, 20, (index) => ({ conditions: [{ ...CLAIM, claim: `iban-${index}` }] })),
} as Readonly<Record<string, (facts: number) => readonly Rules[]>>;
const PERIODS = ['hour', 'day', 'week', 'month'];

function split(facts: number, most: number, one: (index: number) => Partial<Rules>): readonly Rules[] {
  const sizes = Array.from({ length: Math.ceil(facts / most) }, (_, place) => Math.min(most, facts - place * most));
  return sizes.map((size) => {
    const each = Array.from({ length: size }, (_, index) => one(index));
    return {
      limits: each.flatMap(({ limits = [] }) => limits),
      conditions: each.flatMap(({ conditions = [] }) => conditions),
    };
  });
}

interface Question {
  readonly action: string;
  readonly entityId: string;
}

/** Routes that take a list of questions, the member at fault, and where the answers are. */
const LISTS: Readonly<
  Record<string, { path: string; field: string; body: (questions: readonly Question[]) => object; answers: string }>
> = {
  evaluate: { path: '/api/v1/policies/evaluate', field: 'requests', body: questionsBody, answers: 'results' },
  explain: {
    path: '/api/v1/policies/evaluate',
    field: 'requests',
    body: (questions) => ({ ...questionsBody(questions), explain: true }),
    answers: 'results',
  },
  'AuthZEN evaluations': {
    path: '/access/v1/evaluations',
    field: 'evaluations',
    answers: 'evaluations',
    body: (questions) => ({
      subject: { type: 'agent', id: 'bot' },
      context: { run: 'r' },
      evaluations: questions.map(({ action, entityId }) => ({
        action: { name: action, properties: { iban: 'DE02' } },
        resource: { type: 'account', id: `accounts/${entityId}` },
      })),
    }),
  },
};

function questionsBody(questions: readonly Question[]): object {
  const requests = questions.map(({ action, entityId }) => ({ action, resourceId: `accounts/${entityId}` }));
  return { agent: 'bot', run: 'r', resourceType: 'account', parameters: { iban: 'DE02' }, requests };
}

describe('The facts of a request', () => {
  let app: TestApp;
  let entityId: string;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    entityId = (await createEntity(app)).id;
    for (const [kind, rulesOf] of Object.entries(KINDS))
      for (const rules of rulesOf(PER_QUESTION)) await createPolicy(app, { actions: [actionFor(kind)], ...rules });
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => app.close());

  const actionFor = (kind: string): string => kind.replaceAll(' ', '-');
  const questions = (kind: string, count: number): readonly Question[] =>
    Array.from({ length: count }, () => ({ action: actionFor(kind), entityId }));

  /** The statements that look facts up while something is done. */
  async function statementsOf(act: () => Promise<Answer>): Promise<[Answer, readonly string[]]> {
    const Connection = onPostgres ? PostgresConnection : SqliteConnection;
    const all: SqlConnection['all'] = Reflect.get(Connection.prototype, 'all');
    const statements: string[] = [];
    jest.spyOn(Connection.prototype, 'all').mockImplementation(function (
      this: SqlConnection,
      sql: string,
      parameters?: readonly SqlValue[],
    ): Promise<unknown[]> {
      if (/"run" =|"claims"|"ledger_sums"/.test(sql)) statements.push(sql);
      return all.call(this, sql, parameters);
    });
    return [await act(), statements];
  }

  const table = Object.keys(LISTS).flatMap((route) => Object.keys(KINDS).map((kind) => [route, kind] as const));

  it.each(table)('are looked up by %s up to the bound, and none beyond it (%s)', async (route, kind) => {
    const list = LISTS[route] ?? { path: '', field: '', body: questionsBody, answers: '' };
    const ask = (count: number): Promise<Answer> =>
      send(app, 'POST', list.path, { body: list.body(questions(kind, count)) });
    const most = BOUND / PER_QUESTION;
    const [answer, read] = await statementsOf(() => ask(most));
    expect(answer.status).toBe(200);
    expect(answer.body[list.answers]).toHaveLength(most);
    expect(read).toHaveLength(1);
    jest.restoreAllMocks();
    const [refused, unread] = await statementsOf(() => ask(most + 1));
    expect(refused.status).toBe(400);
    expect(refused.body.error.details).toEqual([
      { field: list.field, message: expect.stringContaining(`the first ${most + 1} of them`) },
    ]);
    expect(refused.body.error.message).toContain(`more than ${BOUND} limits`);
    expect(unread).toEqual([]);
  });

  it.each(Object.keys(KINDS))('are counted up to the bound only, however long the list is (%s)', async (kind) => {
    const factQueries = jest.spyOn(PolicyEvaluator.prototype, 'factQueries');
    const refused = await send(app, 'POST', '/api/v1/policies/evaluate', {
      body: questionsBody(questions(kind, 1_000)),
    });
    expect(refused.status).toBe(400);
    expect(factQueries).toHaveBeenCalledTimes(BOUND / PER_QUESTION + 1);
    factQueries.mockRestore();
  });

  it.each(Object.keys(KINDS))('are not looked up for open questions (%s)', async (kind) => {
    const body = { ...questionsBody(questions(kind, 1_000)), open: true };
    const [answer, read] = await statementsOf(() => send(app, 'POST', '/api/v1/policies/evaluate', { body }));
    expect(answer.status).toBe(200);
    expect(answer.body.results[999]).toMatchObject({ effect: 'allow' });
    expect(read).toEqual([]);
  });
});

describe('The facts in force', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
  });
  afterAll(() => app.close());

  const everything = { version: '1', effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };
  const question = { action: 'pay', resourceType: 'account', parameters: { iban: 'DE02' } };

  it('are as many as a single request can need, and no more come into force by any route', async () => {
    const kinds = Object.keys(KINDS);
    const policies = kinds.flatMap((kind) => {
      const facts = kind.startsWith('limits') ? 100 : (BOUND - 200) / (kinds.length - 2);
      const rules = KINDS[kind]?.(Math.floor(facts)) ?? [];
      return rules.map((one, index) => ({ ...everything, name: `${kind} ${index}`, ...one }));
    });
    const facts = policies.reduce((sum, { limits, conditions }) => sum + limits.length + conditions.length, 0);
    const rest = { ...everything, name: 'rest', conditions: Array.from({ length: BOUND - facts }, () => EARLIER) };
    const set = [...policies, rest];
    const tests = [{ agent: 'bot', resourceId: 'i', ...question, expect: 'allow' }];
    const planned = await send(app, 'POST', '/api/v1/policies/plan', { body: { policies: set, tests } });
    expect(planned).toMatchObject({ status: 200, body: { tests: { passed: 1 } } });
    const applied = await send(app, 'POST', '/api/v1/policies/apply', {
      body: { base: planned.body.base, policies: set },
    });
    expect(applied.status).toBe(200);

    const { id } = await createEntity(app);
    const request = { ...question, run: 'r', resourceId: `accounts/${id}` };
    const executed = await send(app, 'POST', '/api/v1/agents/bot/execute', { body: request });
    expect(executed).toMatchObject({ status: 200, body: { outcome: 'authorized' } });
    const evaluated = await send(app, 'POST', '/api/v1/policies/evaluate', {
      body: { agent: 'bot', ...request, explain: true },
    });
    expect(evaluated).toMatchObject({ status: 200, body: { effect: 'allow' } });

    const more = { ...everything, name: 'one more', conditions: [EARLIER] };
    const { base } = (await send(app, 'POST', '/api/v1/policies/plan', { body: { policies: [] } })).body;
    const refusals = {
      create: await send(app, 'POST', '/api/v1/policies', { body: more }),
      plan: await send(app, 'POST', '/api/v1/policies/plan', { body: { policies: [more], tests } }),
      apply: await send(app, 'POST', '/api/v1/policies/apply', { body: { base, policies: [more] } }),
      activate: await activation(more),
    };
    const message = expect.stringContaining(
      `${BOUND + 1} limits and conditions on earlier actions or claims in force are more than the ${BOUND} that may be`,
    );
    for (const refused of Object.values(refusals))
      expect(refused).toMatchObject({ status: 409, body: { error: { message } } });
  });

  it('are at most 50 conditions on a time, since each compares many actions while everybody waits', async () => {
    const timed = Array.from({ length: 17 }, (_, index) => ({ ...EARLIER, within: `PT${index + 1}M` }));
    const policies = [1, 2, 3].map((number) => ({ ...everything, name: `timed ${number}`, conditions: timed }));
    const { base } = (await send(app, 'POST', '/api/v1/policies/plan', { body: { policies: [] } })).body;
    const refused = await send(app, 'POST', '/api/v1/policies/apply', { body: { base, policies, prune: true } });
    const message = expect.stringContaining('51 conditions with `within` in force are more than the 50 that may be');
    expect(refused).toMatchObject({ status: 409, body: { error: { message } } });
  });

  /** Activates a policy that was in force before others took its place. */
  async function activation(more: object): Promise<Answer> {
    const rest = (await send(app, 'GET', '/api/v1/policies?name=rest')).body.data[0];
    await send(app, 'POST', `/api/v1/policies/${rest.id}/deactivate`);
    const { id } = (await send(app, 'POST', '/api/v1/policies', { body: more })).body;
    await send(app, 'POST', `/api/v1/policies/${id}/deactivate`);
    await send(app, 'POST', `/api/v1/policies/${rest.id}/activate`);
    return send(app, 'POST', `/api/v1/policies/${id}/activate`);
  }
});
