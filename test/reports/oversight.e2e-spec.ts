import { setTimeout as sleep } from 'node:timers/promises';
import {
  approve,
  type Company,
  company,
  DECISIONS,
  EXECUTIONS,
  order,
  pending,
  reject,
  requireApproval,
  resume,
} from '../approvals/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import {
  chainIsValid,
  createAgent,
  createEntity,
  createPolicy,
  issueKey,
  propose,
} from '../support/application/factories';
import { type Answer, faults, send } from '../support/application/send';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { recomputedReport } from './recomputed-report';

const REPORT = '/api/v1/reports/oversight';
const HOUR = 3_600_000;

describe('A report on a period', () => {
  let app: TestApp;
  let people: Company;

  beforeAll(async () => {
    await moveTime(-200 * HOUR);
    app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    people = await company(app);
    await requireApproval(app, { decideWithin: 'PT30M' });
    await createPolicy(app, { name: 'sending', actions: ['send'] });
    await createPolicy(app, { name: 'nobody-asks', actions: ['nothing'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }], grant: { for: 'P1D', uses: 5 } };
    const once = { effect: 'require_approval', resources: ['once/*'], priority: 5, approval };
    await createPolicy(app, { ...once, name: 'approved-once', actions: ['send'] });
    await createPolicy(app, { name: 'never', actions: ['send'], resources: ['secret/*'], effect: 'deny', priority: 9 });
  });
  afterAll(async () => {
    await restoreTime();
    await chainIsValid(app);
    await app.close();
  });

  /** Acts at a time so many hours before now. */
  async function hoursAgo<Result>(hours: number, act: () => Promise<Result>): Promise<Result> {
    await moveTime(-hours * HOUR);
    return act();
  }

  async function execute(agent: string, action: string, resourceId: string): Promise<Answer> {
    return send(app, 'POST', `/api/v1/agents/${agent}/execute`, {
      body: { action, resourceType: 'mail', resourceId },
    });
  }

  async function expired(decisions: number): Promise<void> {
    while ((await send(app, 'GET', `${DECISIONS}?status=expired`)).body.total < decisions) await sleep(20);
  }

  async function isRecomputed(from: number, to: number, bucket: string): Promise<void> {
    const iso = (hours: number): string => new Date(Date.now() - hours * HOUR).toISOString();
    const period = { from: iso(from), to: iso(to), bucket };
    const answer = await send(app, 'GET', `${REPORT}?${new URLSearchParams(period).toString()}`);
    expect(answer.status).toBe(200);
    const { chain, ...report } = answer.body;
    const exported = await send(app, 'GET', '/api/v1/provenance/export');
    expect(report).toEqual(recomputedReport(exported.text, chain.size, period));
    expect(chain.checkpoint).toContain(`\n${chain.size as number}\n`);
  }

  async function allAreRecomputed(): Promise<void> {
    await isRecomputed(190, 0, 'day');
    await isRecomputed(190, 0, 'week');
    await isRecomputed(110, 20.7, 'hour');
    // Begins and ends within hours that are kept whole, right after what happened in them.
    await isRecomputed(60, 30, 'hour');
    await isRecomputed(3, 0, 'hour');
    await isRecomputed(0, -48, 'day');
  }

  it('is what anybody can compute from an export, in every number', async () => {
    const { bot, ann, ben } = people;
    const waiting = await hoursAgo(100, async () => {
      await execute('bot', 'send', 'letters/1');
      await execute('bot', 'send', 'secret/1');
      await execute('bot', 'unknown', 'letters/1');
      await approve(app, (await pending(app, bot, order())).decisionId, ann);
      return pending(app, bot, order());
    });
    await hoursAgo(99.9, () => approve(app, waiting.decisionId, ben));
    await hoursAgo(60, async () => {
      const request = await pending(app, bot, order());
      await approve(app, request.decisionId, ann);
      await resume(app, request.id);
      await send(app, 'POST', `${EXECUTIONS}/${request.id}/result`, { body: { outcome: 'executed' } });
      await reject(app, (await pending(app, bot, order())).decisionId, ben);
      await reject(app, (await pending(app, bot, order())).decisionId);
      await send(app, 'POST', `${EXECUTIONS}/${(await pending(app, bot, order())).id}/cancel`);
      // Expires.
      await pending(app, bot, order());
    });
    await hoursAgo(40, async () => {
      const { body: request } = await execute('bot', 'send', 'once/1');
      const body = { approverId: ann.id, grant: { for: 'P1D', uses: 3 } };
      await send(app, 'POST', `${DECISIONS}/${request.decisionId as string}/approve`, { body });
      await resume(app, request.id);
      for (const served of [await execute('bot', 'send', 'once/1'), await execute('bot', 'send', 'once/1')])
        expect(served.status).toBe(200);
    });
    await hoursAgo(30, async () => {
      const { id } = await createAgent(app, { name: 'newcomer', capabilities: ['*'], team: 'mail-room' });
      const observeUntil = new Date(Date.now() + 24 * HOUR).toISOString();
      await send(app, 'PATCH', `/api/v1/agents/${id}`, { body: { observeUntil } });
      await execute('newcomer', 'anything', 'letters/1');
      const { body: failing } = await execute('newcomer', 'send', 'letters/2');
      const result = { outcome: 'failed', reason: 'No stamps.' };
      await send(app, 'POST', `${EXECUTIONS}/${failing.id as string}/result`, { body: result });
      await propose(app, id);
      await send(app, 'POST', '/api/v1/stops', { body: { role: 'billing', reason: 'Look first.' } });
      await execute('bot', 'send', 'letters/3');
      const entity = await createEntity(app);
      const subjects = [
        { type: 'entity', id: entity.id },
        { type: 'execution', id: failing.id },
      ];
      expect((await send(app, 'POST', '/api/v1/erasures', { body: { subjects, reason: 'Asked to.' } })).status).toBe(
        201,
      );
    });
    await restoreTime();
    await expired(1);
    const { body } = await send(app, 'GET', REPORT);
    expect(body.approvals).toMatchObject({ proposed: 9, approved: 4, rejected: 2, expired: 1, withinTenSeconds: 5 });
    expect([body.stops, body.erasures, body.unused.length]).toEqual([1, 1, 1]);
    expect(body.grants).toEqual({ minted: 1, used: 2 });
    await allAreRecomputed();
    // From memory.
    await allAreRecomputed();
  });

  it('counts the past again when something in it changes', async () => {
    const { bot } = people;
    const [stopped] = (await send(app, 'GET', '/api/v1/stops?status=active')).body.data;
    if (stopped) await send(app, 'POST', `/api/v1/stops/${stopped.id as string}/lift`, { body: { reason: 'Looked.' } });
    const late = await hoursAgo(25, async () => {
      const { body } = await execute('bot', 'send', 'letters/4');
      const decision = await propose(app, bot.id);
      return { execution: body.id as string, decision: decision.id };
    });
    await restoreTime();
    await allAreRecomputed();
    const result = { body: { outcome: 'executed' } };
    expect((await send(app, 'POST', `${EXECUTIONS}/${late.execution}/result`, result)).status).toBe(200);
    await allAreRecomputed();
    await send(app, 'POST', `${DECISIONS}/${late.decision}/reject`, { body: {} });
    await execute('bot', 'send', 'letters/5');
    await allAreRecomputed();
  });

  it('is about the last 30 days, by day, unless the query says otherwise', async () => {
    const { body } = await send(app, 'GET', REPORT);
    expect(Date.parse(body.to) - Date.parse(body.from)).toBe(30 * 24 * HOUR);
    expect(body.requests).toHaveLength(31);
    expect(body.requests.at(-1).start).toBe(`${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`);
    expect((await send(app, 'GET', `${REPORT}?from=2026-02-02&to=2026-02-02`)).body.requests).toEqual([]);
    const { body: week } = await send(app, 'GET', `${REPORT}?to=2026-03-04&bucket=week`);
    expect([week.from, week.requests[0].start, week.requests.at(-1).start]).toEqual([
      '2026-02-02T00:00:00.000Z',
      '2026-02-02T00:00:00.000Z',
      '2026-03-02T00:00:00.000Z',
    ]);
  });

  it.each([
    ['from=2026-02-02&to=2026-02-01', 'query.from'],
    ['from=2999-01-01', 'query.from'],
    ['from=yesterday', 'query.from'],
    ['to=tomorrow', 'query.to'],
    ['bucket=minute', 'query.bucket'],
    ['from=2026-01-01&to=2026-02-01&bucket=hour', 'query.bucket'],
    ['from=2025-01-01&to=2026-02-05T00:00:00.001Z&bucket=day', 'query.bucket'],
    ['from=0001-01-01&to=9999-12-31&bucket=week', 'query.bucket'],
    ['from=2026-01-01&limit=1', 'query.limit'],
  ])('refuses %s', async (query, field) => {
    const answer = await send(app, 'GET', `${REPORT}?${query}`);
    expect([answer.status, Object.keys(faults(answer))]).toEqual([400, [field]]);
  });

  it('has at most 400 buckets', async () => {
    const { status, body } = await send(app, 'GET', `${REPORT}?from=2025-01-01&to=2026-02-05&bucket=day`);
    expect([status, body.requests.length]).toEqual([200, 400]);
  });

  it('is for who may read the audit trail', async () => {
    const { secret: key } = await issueKey(app, { scopes: ['audit'] });
    expect((await send(app, 'GET', REPORT, { key })).status).toBe(200);
    const { secret } = await issueKey(app, { scopes: ['read', 'review', 'execute'] });
    expect((await send(app, 'GET', REPORT, { key: secret })).body.error.reason).toBe('scope_missing');
  });
});
