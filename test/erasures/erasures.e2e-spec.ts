import { setTimeout as sleep } from 'node:timers/promises';
import { EntryReader } from '../../src/ledger/reading/entry-reader';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import {
  addClaim,
  auditOf,
  createAgent,
  createEntity,
  createPolicy,
  issueKey,
  propose,
} from '../support/application/factories';
import { faults, type Answer, type Parsed, send } from '../support/application/send';
import { foreignConnection } from '../support/database/foreign-connection';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';

const ERASURES = '/api/v1/erasures';
const REASON = 'Request 7 of a data subject';

/** A text that only contents hold, so that it is nowhere after their erasure. */
const SECRET = 'Erika Mustermann';

describe('An erasure', () => {
  let app: TestApp;
  let foreign: SqlConnection;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    foreign = await foreignConnection(app);
    await createPolicy(app, { effect: 'require_approval', actions: ['refund'], approval: { riskLevel: 'low' } });
    await createPolicy(app, { effect: 'allow', actions: ['look'] });
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  const post = (path: string, body?: object, headers?: Record<string, string>): Promise<Answer> =>
    send(app, 'POST', `/api/v1${path}`, { ...(body !== undefined && { body }), ...(headers && { headers }) });
  const get = async (path: string): Promise<Parsed> => (await send(app, 'GET', `/api/v1${path}`)).body;
  const erase = (type: string, id: string, reason = REASON): Promise<Answer> =>
    post('/erasures', { subjects: [{ type, id }], reason });

  async function completed(id: string): Promise<Parsed> {
    for (;;) {
      const erasure = await get(`/erasures/${id}`);
      if (erasure.completedAt !== null) return erasure;
      await sleep(50);
    }
  }

  async function execute(action: string): Promise<Parsed> {
    const name = `agent ${Math.random()}`;
    const agent = await createAgent(app, { name, capabilities: ['refund', 'look'] });
    const body = { action, resourceType: 'customer', resourceId: `people/${SECRET}`, parameters: { for: SECRET } };
    const context = { onBehalfOf: { subject: `user:${SECRET}` }, run: SECRET };
    return (await post(`/agents/${agent.id}/execute`, { ...body, ...context })).body;
  }

  async function refunded(): Promise<Parsed> {
    const { id: executionId, decisionId } = await execute('refund');
    const reviewer = await createAgent(app, { name: `reviewer ${Math.random()}`, capabilities: [], kind: 'human' });
    const approval = { approverId: reviewer.id, comment: `Fine with ${SECRET}` };
    expect((await post(`/decisions/${decisionId}/approve`, approval)).body).toMatchObject({ status: 'approved' });
    expect((await post(`/executions/${executionId}/resume`)).status).toBe(200);
    const result = { outcome: 'executed', result: { paid: SECRET } };
    expect((await post(`/executions/${executionId}/result`, result)).status).toBe(200);
    return { executionId, decisionId };
  }

  it('takes the contents of an execution and its decision, and no proof', async () => {
    const { executionId, decisionId } = await refunded();
    const { total: size } = await get('/provenance?limit=1');
    const { data } = await get(`/provenance?subjectId=${executionId}`);
    const proofs = await Promise.all(
      data.map(({ sequence }: Parsed) => get(`/provenance/${sequence}/proof?size=${size}`)),
    );
    const { status, body } = await erase('decision', decisionId);
    expect({ status, body }).toMatchObject({ status: 201, body: { reason: REASON, completedAt: null, entries: null } });
    const erasure = await completed(body.id);
    expect(erasure).toMatchObject({ records: 2, unsalted: 0 });
    const execution = await get(`/executions/${executionId}`);
    expect(execution).toMatchObject({ parameters: {}, result: null, actionHash: null, resourceId: '', erased: true });
    const decision = await get(`/decisions/${decisionId}`);
    for (const erased of [execution, decision]) expect(erased).toMatchObject({ onBehalfOf: null, run: null });
    expect(decision).toMatchObject({ title: '', description: '', context: {}, actionHash: null, erased: true });
    expect(decision.reviews).toEqual([expect.objectContaining({ verdict: 'approve', comment: null })]);
    const entries = [...(await auditOf(app, executionId)), ...(await auditOf(app, decisionId))];
    const gone = entries.filter(({ action }) => !action.endsWith('.erased'));
    expect(gone).toHaveLength(erasure.entries);
    for (const entry of gone) expect(entry).toMatchObject({ details: null, ip: null, reason: null, requestId: null });
    const own = entries.filter(({ action }) => action.endsWith('.erased'));
    expect(own.map(({ details }) => details)).toEqual([{ erasureId: body.id }, { erasureId: body.id }]);
    const sealed = await get(`/provenance/${gone[0]?.sequence}`);
    expect(sealed).toMatchObject({ state: null, salts: { details: null, state: null }, erased: own[0]?.sequence });
    expect(sealed.stateHash).not.toBeNull();
    const again = await Promise.all(
      data.map(({ sequence }: Parsed) => get(`/provenance/${sequence}/proof?size=${size}`)),
    );
    expect(again).toEqual(proofs);
    const verdict = await post('/provenance/verify', { state: true });
    expect(verdict.body).toMatchObject({ valid: true, erased: erasure.entries, invalidHashes: 0, invalidRecords: 0 });
    expect(await rowsWith(executionId)).toEqual([]);
  });

  /** Finds the entries and executions with this id that still hold the secret. */
  async function rowsWith(id: string): Promise<Parsed[]> {
    return foreign.all(
      `SELECT "subjectId" FROM "ledger_entries" WHERE "subjectId" = $1 AND ("details" LIKE $2 OR "state" LIKE $2) ` +
        `UNION ALL SELECT "id" FROM "executions" WHERE "id" = $1 AND ("parameters" LIKE $2 OR "resourceId" LIKE $2)`,
      [id, `%${SECRET}%`],
    );
  }

  it('takes an entity with its claims, deleted or not', async () => {
    for (const isDeleted of [false, true]) {
      const { id } = await createEntity(app, { name: SECRET });
      const claim = await addClaim(app, id, { value: SECRET });
      const removed = await addClaim(app, id, { value: SECRET, predicate: 'other' });
      await send(app, 'DELETE', `/api/v1/entities/${id}/claims/${removed.id}`);
      if (isDeleted) await send(app, 'DELETE', `/api/v1/entities/${id}`);
      const { status, body } = await erase('entity', id);
      expect(status).toBe(201);
      await completed(body.id);
      expect((await send(app, 'GET', `/api/v1/entities/${id}`)).status).toBe(404);
      const entries = [
        ...(await auditOf(app, id)),
        ...(await auditOf(app, claim.id)),
        ...(await auditOf(app, removed.id)),
      ];
      const left = entries.filter(({ details }) => details !== null);
      expect(left.map(({ action }) => action)).toEqual(['entity.erased']);
      expect(entries.map(({ action }) => action)).toContain('entity.deleted');
      expect((await erase('entity', id)).status).toBe(200);
    }
    expect((await post('/provenance/verify', { state: true })).body).toMatchObject({ valid: true });
  });

  it('is answered with the earlier one where nothing is left', async () => {
    const { executionId, decisionId } = await refunded();
    const first = (await erase('execution', executionId)).body;
    const { status, body } = await erase('decision', decisionId, 'Once more');
    expect({ status, id: body.id }).toEqual({ status: 200, id: first.id });
  });

  it('is refused for what is open, unknown, named twice or too many, and changes nothing', async () => {
    const { id: executionId, decisionId } = await execute('refund');
    const { total } = await get('/audit?limit=1&action=erasure.begun');
    for (const [type, id] of [
      ['execution', executionId],
      ['decision', decisionId],
    ]) {
      const { status, body } = await erase(type, id);
      expect({ status, message: body.error.message }).toEqual({
        status: 409,
        message: expect.stringContaining(executionId),
      });
    }
    const unknown = await erase('execution', 'exe_01M7W000000000000000000001');
    expect([unknown.status, Object.keys(faults(unknown))]).toEqual([400, ['subjects[0]']]);
    const subject = { type: 'execution', id: executionId };
    const twice = await post('/erasures', { subjects: [subject, subject], reason: REASON });
    expect([twice.status, Object.keys(faults(twice))]).toEqual([400, ['subjects[1]']]);
    const many = Array.from({ length: 101 }, (_one, index) => ({ type: 'execution', id: `exe_${index}` }));
    expect((await post('/erasures', { subjects: many, reason: REASON })).status).toBe(400);
    expect((await post('/erasures', { subjects: [], reason: REASON })).status).toBe(400);
    expect((await get('/audit?limit=1&action=erasure.begun')).total).toBe(total);
  });

  it('counts all that it has taken, also with the grants that came of many decisions', async () => {
    const grant = { for: 'PT1H' };
    await createPolicy(app, { effect: 'require_approval', actions: ['send'], approval: { riskLevel: 'low', grant } });
    const { name } = await createAgent(app, { name: 'sender', capabilities: ['send'] });
    const { id: approverId } = await createAgent(app, { name: 'giver', capabilities: [], kind: 'human' });
    const granted = async (_unused: unknown, index: number): Promise<Parsed> => {
      const body = { action: 'send', resourceType: 'letter', resourceId: `letters/${index}` };
      const { id, decisionId } = (await post(`/agents/${name}/execute`, body)).body;
      expect((await post(`/decisions/${decisionId}/approve`, { approverId, grant })).status).toBe(200);
      await post(`/executions/${id}/cancel`);
      return { type: 'execution', id };
    };
    const subjects = await Promise.all(Array.from({ length: 70 }, granted));
    const { status, body } = await post('/erasures', { subjects, reason: REASON });
    expect(status).toBe(201);
    expect(await completed(body.id)).toMatchObject({ records: 210 });
  });

  it('of an authorized execution means that no result is taken any more', async () => {
    const { id: executionId } = await execute('look');
    expect((await erase('execution', executionId)).status).toBe(201);
    expect((await post(`/executions/${executionId}/result`, { outcome: 'executed' })).status).toBe(409);
  });

  it('takes kept answers with it', async () => {
    const key = { 'Idempotency-Key': 'erased-soon' };
    const body = { type: 'person', name: SECRET };
    const { id } = (await post('/entities', body, key)).body;
    await completed((await erase('entity', id)).body.id);
    const again = await post('/entities', body, key);
    expect(again.body.id).not.toBe(id);
  });

  it('reads of the past say so', async () => {
    const { id } = await createEntity(app, { name: SECRET });
    const [created] = await auditOf(app, id);
    const moment = created?.sequence;
    await completed((await erase('entity', id)).body.id);
    const { status, body } = await send(app, 'GET', `/api/v1/entities/${id}?asOf=${moment}`);
    expect({ status, code: body.error.code }).toEqual({ status: 410, code: 'CONTENT_ERASED' });
  });

  it('is not found in reads of the past by who may not see the record', async () => {
    const [{ id, agentId }, other] = [
      await execute('look'),
      await createAgent(app, { name: `other ${Math.random()}` }),
    ];
    const [authorized] = await auditOf(app, id);
    await completed((await erase('execution', id)).body.id);
    const path = `/api/v1/executions/${id}?asOf=${authorized?.sequence}`;
    const statuses = [agentId, other.id].map(async (agent) => {
      const { secret: key } = await issueKey(app, { agentId: agent, scopes: ['execute'] });
      return (await send(app, 'GET', path, { key })).status;
    });
    expect(await Promise.all(statuses)).toEqual([410, 404]);
  });

  it('still lets requests be evaluated as of an entry that it has emptied', async () => {
    const { id } = await createEntity(app, { name: SECRET });
    const [created] = await auditOf(app, id);
    await completed((await erase('entity', id)).body.id);
    const question = { subject: { name: 'nobody' }, action: 'look', resourceType: 'customer', resourceId: 'a' };
    const { status, body } = await post('/policies/evaluate', { ...question, asOf: created?.sequence });
    expect([status, body.effect]).toEqual([200, 'allow']);
  });

  it('is no fault for a verification during which it begins', async () => {
    const { id } = await createEntity(app, { name: SECRET });
    const entries = app.application.get(EntryReader);
    const chunk = entries.chunk.bind(entries);
    jest.spyOn(entries, 'chunk').mockImplementationOnce(async (after, upTo) => {
      await completed((await erase('entity', id)).body.id);
      return chunk(after, upTo);
    });
    const { total } = await get('/audit?limit=1');
    const { body } = await post('/provenance/verify');
    expect(body).toMatchObject({ valid: true, invalidHashes: 0, firstInvalid: null, head: { sequence: total } });
    expect(body.erased).toBeGreaterThan(0);
  });

  it('is found if its contents were taken by somebody else', async () => {
    const decision = await propose(app, (await createAgent(app, { name: `p ${Math.random()}`, capabilities: [] })).id);
    const [entry] = await auditOf(app, decision.id);
    const sequence = entry?.sequence ?? 0;
    await foreign.run(
      `UPDATE ledger_entries SET details = 'null', ip = NULL, reason = NULL, "requestId" = NULL, state = NULL, ` +
        `"detailsSalt" = NULL, "stateSalt" = NULL, erased = $1 WHERE sequence = $2`,
      [sequence + 1, sequence],
    );
    const { body } = await post('/provenance/verify');
    expect(body).toMatchObject({ valid: false, invalidHashes: 1, firstInvalid: sequence });
  });

  it('takes records of a few megabytes together', async () => {
    const entity = await createEntity(app);
    const subjects = [{ type: 'entity', id: entity.id }];
    for (let count = 0; count < 9; count += 1) {
      const { id } = await propose(app, (await createAgent(app, { name: `large ${count}` })).id, {
        context: { text: 'x'.repeat(1_000_000) },
      });
      await post(`/decisions/${id}/cancel`);
      subjects.push({ type: 'decision', id });
    }
    const refused = await post('/erasures', { subjects, reason: REASON });
    expect([refused.status, refused.body.error.message]).toEqual([
      409,
      'These records are too large to be erased together. Erase fewer at a time.',
    ]);
    expect((await post('/erasures', { subjects: subjects.slice(0, 9), reason: REASON })).status).toBe(201);
  });
});

describe('A record that is too young', () => {
  it('is refused with the time from which on it can be erased', async () => {
    const app = await createTestApp();
    const { id } = await createEntity(app);
    const [entry] = await auditOf(app, id);
    const { status, body } = await send(app, 'POST', ERASURES, {
      body: { subjects: [{ type: 'entity', id }], reason: REASON },
    });
    const from = new Date(Date.parse(String(entry?.timestamp)) + 86_400_000).toISOString();
    expect({ status, message: body.error.message }).toEqual({ status: 409, message: expect.stringContaining(from) });
    expect((await send(app, 'GET', `/api/v1/entities/${id}`)).status).toBe(200);
    await app.close();
  });
});
