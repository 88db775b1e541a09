import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, faults, isReplayed, send } from '../support/application/send';
import { Database } from '../../src/ledger/database/database';
import { UnknownOutcomes } from '../../src/governance/execute/unknown-outcomes';
import { onPostgres } from '../support/database/database-kind';
import { foreignConnection } from '../support/database/foreign-connection';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { nodesOf, planIn } from '../support/database/postgres-plan';
import { decisionFileOf, verifyFile } from '../evidence/verified-file';

const MINUTE = 60_000;

interface Options {
  readonly repeats?: string;
  readonly key?: string;
}

describe('An action whose outcome is unknown', () => {
  let app: TestApp;
  let gateway: string;
  let requested = 0;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    await createAgent(app, { name: 'bot', capabilities: ['refund', 'transfer'] });
    await createAgent(app, { name: 'twin', capabilities: ['refund'] });
    await createAgent(app, { name: 'boss', kind: 'human' });
    await createPolicy(app, { actions: ['refund'], limits: [{ max: 1000, per: 'day', by: 'agent' }] });
    await createPolicy(app, {
      ...{ actions: ['transfer'], effect: 'require_approval' },
      approval: { approvers: [{ subjects: ['agent:boss'] }] },
    });
    gateway = (await issueKey(app, { scopes: ['report'] })).secret;
  });
  afterEach(restoreTime);
  afterAll(() => app.close());

  /** A request that no other test makes. */
  function refund(more: object = {}): object {
    requested += 1;
    return { action: 'refund', resourceType: 'charge', resourceId: `charges/${requested}`, via: 'payments', ...more };
  }
  function ask(body: object, { repeats, key }: Options = {}, agent = 'bot'): Promise<Answer> {
    const headers = {
      ...(repeats !== undefined && { 'Governance-Repeat': repeats }),
      ...(key !== undefined && { 'Idempotency-Key': key }),
    };
    return send(app, 'POST', `/api/v1/agents/${agent}/execute`, { body, headers });
  }
  function resume(id: string, { repeats }: Options = {}): Promise<Answer> {
    const headers = repeats === undefined ? {} : { 'Governance-Repeat': repeats };
    return send(app, 'POST', `/api/v1/executions/${id}/resume`, { body: { via: 'payments' }, headers });
  }
  const report = (id: string, reason: string): Promise<Answer> =>
    send(app, 'POST', `/api/v1/executions/${id}/result`, { key: gateway, body: { outcome: 'failed', reason } });
  const approve = ({ body }: Answer): Promise<Answer> =>
    send(app, 'POST', `/api/v1/decisions/${body.decisionId}/approve`, { body: { approverId: 'boss' } });

  async function unknown(body: object, options?: Options): Promise<string> {
    const { id } = (await ask(body, options)).body;
    expect((await report(id, 'outcome_unknown')).status).toBe(200);
    return id;
  }
  async function recomputed(id: string): Promise<string> {
    const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
    return (await verifyFile(await decisionFileOf(app, { id }), publicKey)).output;
  }

  it('is refused, in every run, on record, and takes nothing from limits', async () => {
    const body = refund({ run: 'one' });
    const first = await unknown(body);
    for (const run of ['one', 'two', undefined]) {
      const { status, body: answer } = await ask({ ...body, run });
      expect([status, answer.error]).toEqual([
        403,
        expect.objectContaining({ reason: 'outcome_unknown', message: expect.stringContaining(first) }),
      ]);
      const [entry] = await auditOf(app, answer.error.executionId);
      expect(entry).toMatchObject({
        action: 'execution.denied',
        reason: 'outcome_unknown',
        details: { repeats: first },
      });
      expect(entry?.details).not.toHaveProperty('used');
      expect(await recomputed(answer.error.executionId)).toContain('RECOMPUTED: denied as recorded');
    }
  });

  it('passes for another agent, another action, and without a gateway', async () => {
    const body = refund();
    await unknown(body);
    expect((await ask(body, {}, 'twin')).status).toBe(200);
    expect((await ask({ ...body, parameters: { other: true } })).status).toBe(200);
    expect((await ask({ ...body, via: undefined })).status).toBe(200);
    expect((await ask({ ...body, via: 'elsewhere' })).status).toBe(403);
  });

  it.each(['not_sent', 'stopped', 'timeout'])('passes after the reason %s', async (reason) => {
    const body = refund();
    await report((await ask(body)).body.id, reason);
    expect((await ask(body)).status).toBe(200);
  });

  it('passes with the id of the newest such execution, on record, and with no other', async () => {
    const body = refund();
    const first = await unknown(body);
    const second = await ask(body, { repeats: first });
    expect(second.body).toMatchObject({ outcome: 'authorized', reason: null });
    expect((await auditOf(app, second.body.id))[0]?.details).toMatchObject({ repeats: first });
    await report(second.body.id, 'outcome_unknown');
    expect((await ask(body, { repeats: first })).body.error.message).toContain(second.body.id);
    const third = await ask(body, { repeats: second.body.id });
    expect(third.status).toBe(200);
    expect(await recomputed(third.body.id)).toContain('RECOMPUTED: authorized as recorded');
    for (const repeats of ['exe_1', '*', third.body.id.toLowerCase()])
      expect(Object.keys(faults(await ask(body, { repeats })))).toEqual(['header.Governance-Repeat']);
  });

  it('is the one that became unknown last, also of executions that began earlier', async () => {
    const body = refund();
    const [early, late] = [(await ask(body)).body.id, (await ask(body)).body.id];
    await report(late, 'outcome_unknown');
    await report(early, 'outcome_unknown');
    expect((await ask(body)).body.error.message).toContain(early);
  });

  it('is answered as before where an Idempotency-Key repeats a request', async () => {
    const body = refund();
    const first = await unknown(body, { key: 'repeated' });
    const again = await ask(body, { key: 'repeated' });
    expect([again.status, isReplayed(again), again.body.id]).toEqual([200, true, first]);
    const refused = await ask(body, { key: 'refused' });
    const replayed = await ask(body, { key: 'refused' });
    expect([replayed.status, isReplayed(replayed), replayed.body]).toEqual([403, true, refused.body]);
  });

  it('is refused although an approval is needed or given, until it is repeated knowingly', async () => {
    const body = refund({ action: 'transfer' });
    const [first, other] = [await ask({ ...body, run: 'one' }), await ask({ ...body, run: 'two' })];
    await approve(first);
    await approve(other);
    await resume(first.body.id);
    await report(first.body.id, 'outcome_unknown');
    expect((await ask({ ...body, run: 'three' })).body.error.reason).toBe('outcome_unknown');
    const refused = await resume(other.body.id);
    expect([refused.status, refused.body.error.reason]).toEqual([403, 'outcome_unknown']);
    expect((await auditOf(app, other.body.id)).at(-1)).toMatchObject({
      ...{ action: 'execution.resume_denied', reason: 'outcome_unknown', details: { repeats: first.body.id } },
    });
    const passed = await resume(other.body.id, { repeats: first.body.id });
    expect(passed.body).toMatchObject({ outcome: 'authorized' });
    expect(await recomputed(other.body.id)).toContain('RECOMPUTED: authorized as recorded');
    const answer = await ask({ ...body, run: 'three' }, { repeats: first.body.id });
    expect(answer.body.outcome).toBe('pending_approval');
  });

  it('is refused for ten minutes', async () => {
    const body = refund();
    await unknown(body);
    await moveTime(10 * MINUTE - 30_000);
    expect((await ask(body)).body.error.reason).toBe('outcome_unknown');
    await moveTime(10 * MINUTE + 30_000);
    expect((await ask(body)).status).toBe(200);
    await restoreTime();
  });

  it('is looked up by an index', async () => {
    const database = app.application.get(Database);
    const { name, sql, key } = app.application.get(UnknownOutcomes, { strict: false }).rowQuery('a'.repeat(64));
    expect(name).toBe('unknown outcome');
    const parameters = [JSON.stringify([[0, ...key]])];
    if (onPostgres) {
      const nodes = nodesOf(await planIn(database.points, sql, parameters));
      expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
      return;
    }
    const planner = await foreignConnection(app);
    const steps = await planner.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, parameters);
    await planner.close();
    const searches = steps.flatMap(({ detail }) => (detail.includes('executions') ? [detail] : []));
    expect(searches).toContainEqual(expect.stringMatching(/^SEARCH executions USING INDEX \w+ \(actionHash=\?\)$/));
    expect(steps.filter(({ detail }) => /^SCAN (?!item|json|asked)/.test(detail))).toEqual([]);
  });

  it('is known to commands of the same batch', async () => {
    const body = refund();
    const { id } = (await ask(body)).body;
    const [, ...answers] = await Promise.all([
      report(id, 'outcome_unknown'),
      ...Array.from({ length: 20 }, () => ask(body)),
    ]);
    const entries = await auditOf(app, id);
    const at = entries.at(-1)?.sequence ?? 0;
    for (const { status, body: answer } of answers) {
      const [entry] = await auditOf(app, status === 200 ? answer.id : answer.error.executionId);
      expect([status, (entry?.sequence ?? 0) > at]).toEqual(status === 200 ? [200, false] : [403, true]);
    }
  });

  it('leaves a chain that verifies', () => chainIsValid(app));
});
