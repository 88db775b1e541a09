import { Database } from '../../src/ledger/database/database';
import type { SqlValue } from '../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import {
  addClaim,
  chainIsValid,
  createAgent,
  createEntity,
  createPolicy,
  issueKey,
} from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';
import { onPostgres } from '../support/database/database-kind';
import { foreignConnection } from '../support/database/foreign-connection';
import { nodesOf, planIn } from '../support/database/postgres-plan';

const SURE = { claim: 'iban', op: 'supports', parameter: '/iban', value: 0.9 };
const IBAN = 'DE02';
/** Length of the JSON of a context around its padding. */
/** Bytes of the contexts of two claims besides the padding of one. */
const JSON_AROUND = JSON.stringify({ confidence: 1, padding: '' }).length + JSON.stringify({ confidence: 0.1 }).length;

interface ClaimRead {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
  readonly rows: number;
  readonly characters: number;
}

describe('Conditions on claims', () => {
  let app: TestApp;
  let entityId = '';

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['pay', 'close', 'ask'] });
    await createAgent(app, { name: 'ann', kind: 'human' });
    await createPolicy(app, { name: 'pays', actions: ['pay'], conditions: [SURE] });
    await createPolicy(app, { name: 'closes', actions: ['close'] });
    await createPolicy(app, { name: 'kept', effect: 'deny', actions: ['close'], conditions: [SURE] });
    const approval = { riskLevel: 'low', approvers: [{ subjects: ['*'] }] };
    await createPolicy(app, { name: 'asks', effect: 'require_approval', actions: ['ask'], approval });
    await createPolicy(app, { name: 'known', effect: 'deny', priority: 1, actions: ['ask'], conditions: [SURE] });
  });
  beforeEach(async () => {
    entityId = (await createEntity(app)).id;
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const requestBody = (action: string, more: object = {}): object => {
    return { action, resourceType: 'account', resourceId: `accounts/${entityId}`, parameters: { iban: IBAN }, ...more };
  };
  const claim = (value: string | number, confidence?: unknown, predicate = 'iban'): Promise<{ readonly id: string }> =>
    addClaim(app, entityId, { predicate, value, context: confidence === undefined ? {} : { confidence } });
  const execute = (action: string, more: object = {}): Promise<Answer> =>
    send(app, 'POST', '/api/v1/agents/bot/execute', { body: requestBody(action, more) });
  const evaluate = async (action: string, more: object = {}): Promise<Parsed> =>
    (await send(app, 'POST', '/api/v1/policies/evaluate', { body: { agent: 'bot', ...requestBody(action, more) } }))
      .body;
  /** True, false or unknown: an allow needs true, a deny only lets through what is false. */
  const truth = async (more: object = {}): Promise<string> => {
    const answers: boolean[] = [];
    for (const action of ['pay', 'close']) {
      const { effect } = await evaluate(action, more);
      const { status } = await execute(action, more);
      expect(status).toBe(effect === 'allow' ? 200 : 403);
      answers.push(status === 200);
    }
    const [pays, closes] = answers;
    return pays === true ? 'true' : closes === true ? 'false' : 'unknown';
  };

  it('pay only into an account with a confidence of 90 %, without a contradiction', async () => {
    expect(await truth()).toBe('false');
    await claim(IBAN, 0.89);
    expect(await truth()).toBe('false');
    await claim(IBAN, 0.95);
    expect(await truth()).toBe('true');
    await claim('DE99', 0.94);
    await claim('DE99', 0.99, 'other');
    expect(await truth()).toBe('true');
    const { id } = await claim('DE99', 0.95);
    expect(await truth()).toBe('false');
    expect(await truth({ parameters: { iban: 'DE99' } })).toBe('false');
    await send(app, 'DELETE', `/api/v1/entities/${entityId}/claims/${id}`);
    expect(await truth()).toBe('true');
  });

  it('count a claim without confidence as 0, and compare values exactly', async () => {
    await claim(IBAN);
    expect(await truth()).toBe('false');
    await claim(7, 1);
    expect(await truth({ parameters: { iban: 7 } })).toBe('true');
    expect(await truth({ parameters: { iban: '7' } })).toBe('false');
  });

  it('are unknown without an entity, a value, or where there is too much', async () => {
    await claim(IBAN, 1);
    expect(await truth()).toBe('true');
    expect(await truth({ parameters: {} })).toBe('unknown');
    expect(await truth({ parameters: { iban: [IBAN] } })).toBe('unknown');
    expect(await truth({ resourceId: 'accounts/7' })).toBe('unknown');
    const nowhere = `${entityId.slice(0, -1)}${entityId.endsWith('0') ? '1' : '0'}`;
    expect(await truth({ resourceId: nowhere })).toBe('unknown');
    await Promise.all(Array.from({ length: 99 }, () => claim(IBAN, 1)));
    expect(await truth()).toBe('true');
    await claim(IBAN, 1);
    expect(await truth()).toBe('unknown');
    await send(app, 'DELETE', `/api/v1/entities/${entityId}`);
    expect(await truth()).toBe('unknown');
  });

  it.each<[what: string, value: string, padding: string, truth: string]>([
    ['a value of 1,000 bytes of JSON', 'x'.repeat(998), '', 'true'],
    ['a value of one byte more', 'x'.repeat(999), '', 'unknown'],
    ['a value of as many bytes in fewer characters', 'é'.repeat(499) + 'x', '', 'unknown'],
    ['contexts of 65,536 bytes of JSON together', IBAN, 'x'.repeat(65_536 - JSON_AROUND), 'true'],
    ['contexts of one byte more', IBAN, 'x'.repeat(65_537 - JSON_AROUND), 'unknown'],
    ['a long claim that was not asked about', 'y'.repeat(10_000), '', 'unknown'],
  ])('bound what is read: %s', async (_what, value, padding, expected) => {
    await claim('other', 0.1);
    await addClaim(app, entityId, { predicate: 'iban', value, context: { confidence: 1, padding } });
    const asOf = (await send(app, 'GET', '/api/v1/audit?limit=1')).body.data[0].sequence;
    const parameters = { iban: value.startsWith('y') ? IBAN : value };
    expect(await truth({ parameters })).toBe(expected);
    const then = { parameters, asOf };
    const effects = [(await evaluate('pay', then)).effect, (await evaluate('close', then)).effect];
    expect(effects).toEqual([expected === 'true' ? 'allow' : 'deny', 'deny']);
  });

  it('compare a confidence digit by digit', async () => {
    await claim(IBAN, 0.950_000_000_000_000_1);
    await claim('DE99', 0.95);
    expect(await truth()).toBe('true');
  });

  it('are unknown where a second segment has the form of an id; the entries are filed under the last one', async () => {
    await claim(IBAN, 1);
    const other = (await createEntity(app)).id;
    for (const [resourceId, expectedId, expected] of [
      [`a/${entityId}/b`, entityId, 'true'],
      [`${entityId}/ent_none`, entityId, 'true'],
      [`${other}/${entityId}/ent_none`, entityId, 'unknown'],
      [`${entityId}/${other}`, other, 'unknown'],
      [`${entityId}/as/${entityId}`, entityId, 'unknown'],
    ]) {
      expect(await truth({ resourceId })).toBe(expected);
      const { data } = (
        await send(app, 'GET', `/api/v1/executions?resourceId=${encodeURIComponent(String(resourceId))}`)
      ).body;
      const entries = (await send(app, 'GET', `/api/v1/audit?subjectId=${data[0].id}`)).body.data;
      expect(entries[0].entityId).toBe(expectedId);
    }
  });

  it('compare predicates in normal form C', async () => {
    await createPolicy(app, {
      actions: ['pay'],
      resources: ['caf\u00e9/*'],
      conditions: [{ ...SURE, claim: 'caf\u00e9' }],
    });
    await claim(IBAN, 1, 'cafe\u0301');
    expect((await evaluate('pay', { resourceId: `caf\u00e9/${entityId}` })).effect).toBe('allow');
  });

  it.each([
    ['Kind', '\u212aind'],
    ['\u00c5-\u00e9', '\u212b-e\u0301'],
    ['\u00e5-\u00e9', '\u00e5-e\u0301'],
    ['\u1e69', 's\u0307\u0323'],
  ])('find the claims on %s in every other spelling, now and as it was', async (predicate, other) => {
    const action = `pay-${predicate}`;
    await send(app, 'PATCH', '/api/v1/agents/bot', { body: { capabilities: ['*'] } });
    await createPolicy(app, { actions: [action], conditions: [{ ...SURE, claim: predicate }] });
    await claim(IBAN, 1, predicate);
    expect((await evaluate(action)).effect).toBe('allow');
    const { id } = await claim('DE03', 1, other);
    expect((await evaluate(action)).effect).toBe('deny');
    const added = (await send(app, 'GET', `/api/v1/provenance?subjectId=${id}`)).body.data[0].sequence;
    const past = [added - 1, added].map(async (asOf) => (await evaluate(action, { asOf })).effect);
    expect(await Promise.all(past)).toEqual(['allow', 'deny']);
  });

  it('are read at a resume, named in the details, and evaluated as of an entry', async () => {
    const { body: pending } = await (async () => {
      expect((await execute('ask')).status).toBe(202);
      return execute('ask');
    })();
    await send(app, 'POST', `/api/v1/decisions/${pending.decisionId}/approve`, { body: { approverId: 'ann' } });
    const { id } = await claim(IBAN, 1);
    const resumed = await send(app, 'POST', `/api/v1/executions/${pending.id}/resume`);
    expect(resumed.body.error.reason).toBe('policy_denied');
    const { data } = (await send(app, 'GET', `/api/v1/audit?subjectId=${pending.id}&action=execution.resume_denied`))
      .body;
    expect(data[0].details.claims).toEqual([{ policyId: expect.any(String), condition: 0, entityId, ids: [id] }]);
    const added = (await send(app, 'GET', `/api/v1/provenance?subjectId=${id}`)).body.data[0].sequence;
    await send(app, 'DELETE', `/api/v1/entities/${entityId}/claims/${id}`);
    const at = async (asOf?: number): Promise<string> => (await evaluate('pay', { asOf })).effect;
    expect([await at(added - 1), await at(added), await at()]).toEqual(['deny', 'allow', 'deny']);
  });

  it('warn while an agent could write the claims itself', async () => {
    const rules = { actions: ['pay'], resources: ['none'], conditions: [SURE] };
    const { id: agentId } = await createAgent(app, { name: 'writer', capabilities: ['pay'] });
    await issueKey(app, { scopes: ['execute'], agentId });
    expect((await createPolicy(app, rules)).warnings).toEqual([]);
    await issueKey(app, { name: 'both', scopes: ['execute', 'entities'], agentId });
    expect((await createPolicy(app, rules)).warnings).toEqual([expect.stringMatching(/could write the claims itself/)]);
    expect((await createPolicy(app, { ...rules, conditions: [] })).warnings).toEqual([]);
  });

  it.each<[fault: string, condition: object]>([
    ['claim', { claim: '' }],
    ['op', { op: 'eq' }],
    ['value', { value: 1.1 }],
    ['value', { value: '0.9' }],
    ['parameter', { parameter: 'iban' }],
    ['parameter', { parameter: '/ibans/*' }],
    ['resource', { resource: 'same' }],
  ])('are refused at %s', async (fault, condition) => {
    const body = { name: 'wrong', version: '1', effect: 'deny', subjects: ['*'], actions: ['*'], resources: ['*'] };
    const answer = await send(app, 'POST', '/api/v1/policies', {
      body: { ...body, conditions: [{ ...SURE, ...condition }] },
    });
    expect(answer.status).toBe(400);
    expect(Object.keys(faults(answer))).toEqual([`conditions[0].${fault}`]);
  });

  /** Notes the statements about claims, and the characters of their rows, while something is done. */
  async function claimReads(act: () => Promise<unknown>): Promise<ClaimRead[]> {
    const { points } = app.application.get(Database);
    const reads: ClaimRead[] = [];
    const all = points.all.bind(points);
    const spy = jest.spyOn(points, 'all').mockImplementation(async (sql, parameters = []) => {
      const rows = await all<never>(sql, parameters);
      if (/"claims"|claim\.added/.test(sql))
        reads.push({ sql, parameters, rows: rows.length, characters: JSON.stringify(rows).length });
      return rows;
    });
    await act();
    spy.mockRestore();
    return reads;
  }
  const lastSequence = async (): Promise<number> =>
    (await send(app, 'GET', '/api/v1/audit?limit=1')).body.data[0].sequence;

  it('are read as they were without their contexts, once for all predicates', async () => {
    const predicates = Array.from({ length: 5 }, (_, index) => `p${index}`);
    for (const predicate of predicates)
      await createPolicy(app, { actions: ['wire'], conditions: [{ ...SURE, claim: predicate }] });
    await send(app, 'PATCH', '/api/v1/agents/bot', { body: { capabilities: ['*'] } });
    const context = { others: predicates.map((predicate) => ({ predicate })), padding: 'x'.repeat(65_000) };
    await addClaim(app, entityId, { predicate: 'p3', value: IBAN, context: { ...context, confidence: 0.9 } });
    for (const value of ['é', 'x'.repeat(2_000)]) await addClaim(app, entityId, { predicate: 'other', value, context });
    const asOf = await lastSequence();
    const reads = await claimReads(async () => expect((await evaluate('wire', { asOf })).effect).toBe('allow'));
    expect(reads.map(({ rows }) => rows)).toEqual([3]);
    for (const { characters } of reads) expect(characters).toBeLessThan(1_000);
  });

  it('are read as they were in parts, until there are too many of the predicate', async () => {
    for (let count = 0; count < 150; count += 50)
      await Promise.all(Array.from({ length: 50 }, () => claim(IBAN, 1, 'other')));
    await claim(IBAN, 1);
    const few = await lastSequence();
    for (let count = 0; count < 300; count += 50) await Promise.all(Array.from({ length: 50 }, () => claim(IBAN, 1)));
    const many = await lastSequence();
    const rowsAt = async (asOf: number, effect: string): Promise<number[]> =>
      (await claimReads(async () => expect((await evaluate('pay', { asOf })).effect).toBe(effect))).map(
        ({ rows }) => rows,
      );
    expect(await rowsAt(few, 'allow')).toEqual([100, 51]);
    expect(await rowsAt(many, 'deny')).toEqual([100, 100, 100]);
  });

  it('are read in statements of 100 keys, so that others are served in between', async () => {
    const ids = Array.from({ length: 250 }, (_, index) => `ent_${String(index).padStart(26, '0')}`);
    const requests = ids.map((id) => ({ resourceId: `accounts/${id}` }));
    const reads = await claimReads(() => evaluate('pay', { requests, resourceId: undefined }));
    expect(reads.map(({ parameters }) => JSON.parse(String(parameters[0])).length)).toEqual([100, 100, 50]);
  });

  it('are looked up by indexes only', async () => {
    const asOf = await lastSequence();
    const statements = await claimReads(async () => {
      await evaluate('pay');
      await evaluate('pay', { asOf });
    });
    expect(statements).toHaveLength(2);
    for (const { sql, parameters } of statements) expect(await scanned(sql, parameters)).toEqual([]);
  });

  async function scanned(sql: string, parameters: readonly SqlValue[]): Promise<string[]> {
    if (onPostgres) {
      const nodes = nodesOf(await planIn(app.application.get(Database).points, sql, parameters));
      return nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? String(node['Relation Name']) : []));
    }
    const planner = await foreignConnection(app);
    const steps = await planner.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, parameters);
    await planner.close();
    return steps.flatMap(({ detail }) =>
      /^SCAN (?:one|claim|claims|entities|added|removed)\b/.test(detail) ? detail : [],
    );
  }
});
