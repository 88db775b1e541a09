import { setTimeout as sleep } from 'node:timers/promises';
import { STOP } from '../../src/governance/stops/stop.entity';
import { SYSTEM_CALLER } from '../../src/ledger/kinds/caller';
import { LedgerService } from '../../src/ledger/ledger.service';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import {
  actionsOf,
  auditOf,
  chainIsValid,
  createAgent,
  createPolicy,
  issueKey,
} from '../support/application/factories';
import { faults, send, type Answer } from '../support/application/send';
import {
  ALLOWED,
  type Company,
  createCompany,
  execute,
  lift,
  liftAll,
  stop,
  stopping,
  STOPS,
  verdict,
  verdictOf,
} from './support';

/** Executions that race with a stop. */
const RACING = 200;

describe('A stop', () => {
  let app: TestApp;
  let company: Company;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    company = await createCompany(app);
  });
  afterEach(() => liftAll(app));
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  describe('while it is active', () => {
    it.each([
      ['everything', {}, ['stopped', 'stopped', 'stopped', 'stopped']],
      ['an agent by name', { agentId: 'bot' }, ['stopped', 'stopped', 'allowed', 'allowed']],
      ['a role', { role: 'clerk' }, ['allowed', 'allowed', 'stopped', 'stopped']],
      ['actions', { actions: ['write', 'del*'] }, ['allowed', 'stopped', 'allowed', 'stopped']],
      ['all that is given', { role: 'worker', actions: ['write'] }, ['allowed', 'stopped', 'allowed', 'allowed']],
      [
        'nothing where one does not meet',
        { agentId: 'bot', role: 'clerk' },
        ['allowed', 'allowed', 'allowed', 'allowed'],
      ],
    ])('covers %s', async (_what, scope, expected) => {
      await stop(app, scope);
      const questions = [
        ['read', 'bot'],
        ['write', 'bot'],
        ['read', 'other'],
        ['write', 'other'],
      ] as const;
      const verdicts = [];
      for (const [action, agent] of questions) verdicts.push(await verdict(app, action, agent));
      expect(verdicts).toEqual(expected);
    });

    it('refuses with its id on record, and lets through again once it is lifted', async () => {
      const { id } = await stop(app, { agentId: company.bot.id });
      const refused = await execute(app);
      expect({ status: refused.status, ...refused.body.error }).toMatchObject({
        ...{ status: 403, code: 'PERMISSION_DENIED', reason: 'stopped' },
        message: expect.stringContaining(id),
      });
      const [execution] = (await send(app, 'GET', '/api/v1/executions?order=desc&limit=1')).body.data;
      expect(execution).toMatchObject({ outcome: 'denied', reason: 'stopped', policies: [] });
      expect(await auditOf(app, execution.id)).toEqual([
        expect.objectContaining({
          ...{ action: 'execution.denied', outcome: 'denied', reason: 'stopped' },
          details: expect.objectContaining({ stopId: id, agentRevision: 1, rules: expect.any(String) }),
        }),
      ]);
      await lift(app, { id });
      const allowed = await execute(app);
      expect(verdictOf(allowed)).toBe('allowed');
      const [entry] = await auditOf(app, allowed.body.id);
      expect(entry?.details).not.toHaveProperty('stopId');
    });

    it('comes after the suspension of the agent, and before its capabilities', async () => {
      const { id } = await createAgent(app, { name: 'idle', capabilities: [] });
      await stop(app);
      expect(await verdict(app, 'read', 'idle')).toBe('stopped');
      await send(app, 'POST', `/api/v1/agents/${id}/suspend`);
      expect(await verdict(app, 'read', 'idle')).toBe('agent_suspended');
    });

    it('refuses what a repeated key would replay', async () => {
      const headers = { 'Idempotency-Key': 'first' };
      expect(verdictOf(await execute(app, 'read', 'bot', headers))).toBe('allowed');
      const { id } = await stop(app, { actions: ['read'] });
      expect(verdictOf(await execute(app, 'read', 'bot', headers))).toBe('stopped');
      await lift(app, { id });
      expect(verdictOf(await execute(app, 'read', 'bot', { 'Idempotency-Key': 'second' }))).toBe('allowed');
    });

    it('refuses the replay of an answer that is no "go", too', async () => {
      const headers = { 'Idempotency-Key': 'asked' };
      const approval = { approvers: [{ subjects: ['agent:ann'], approvals: 1 }] };
      await createPolicy(app, { effect: 'require_approval', actions: ['ask'], priority: 5, approval });
      expect(verdictOf(await execute(app, 'ask', 'bot', headers))).toBe('202');
      const made = await stop(app, { actions: ['ask'] });
      expect(verdictOf(await execute(app, 'ask', 'bot', headers))).toBe('stopped');
      await lift(app, made);
      expect(verdictOf(await execute(app, 'ask', 'bot', headers))).toBe('202');
    });

    it('refuses a resume, while people go on approving and callers reporting', async () => {
      const approval = { approvers: [{ subjects: ['agent:ann'], approvals: 1 }] };
      const requiring = { effect: 'require_approval', actions: ['pay'], priority: 5, approval };
      await createPolicy(app, requiring);
      const { id, decisionId } = (await execute(app, 'pay')).body;
      const running = (await execute(app)).body;
      const made = await stop(app);
      const approve = await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, {
        body: {},
        key: company.ann.key,
      });
      expect(approve.status).toBe(200);
      const report = { body: { outcome: 'executed', result: 1 } };
      expect((await send(app, 'POST', `/api/v1/executions/${running.id}/result`, report)).status).toBe(200);
      const resume = (): Promise<Answer> => send(app, 'POST', `/api/v1/executions/${id}/resume`);
      expect(verdictOf(await resume())).toBe('stopped');
      expect((await auditOf(app, id)).at(-1)).toMatchObject({
        ...{ action: 'execution.resume_denied', outcome: 'denied', reason: 'stopped', details: { stopId: made.id } },
      });
      await lift(app, made);
      expect((await resume()).body.outcome).toBe('authorized');
    });

    it('is the answer of evaluate and AuthZEN, also for subjects that are no agents', async () => {
      const question = { action: 'read', ...ALLOWED };
      const evaluate = async (body: object): Promise<unknown> => {
        const { effect, reason } = (await send(app, 'POST', '/api/v1/policies/evaluate', { body })).body;
        return [effect, reason];
      };
      const access = async (subject: object): Promise<unknown> => {
        const resource = { type: ALLOWED.resourceType, id: ALLOWED.resourceId };
        const body = { subject, action: { name: 'read' }, resource };
        const { decision, context } = (await send(app, 'POST', '/access/v1/evaluation', { body })).body;
        return [decision, context.reason];
      };
      const [stopped, allowed] = [
        ['deny', 'stopped'],
        ['allow', null],
      ];
      await stop(app, { role: 'worker', actions: ['read'] });
      expect(await evaluate({ agent: 'bot', ...question })).toEqual(stopped);
      expect(await evaluate({ agent: 'other', ...question })).toEqual(allowed);
      expect(await evaluate({ subject: { roles: ['worker'] }, ...question })).toEqual(stopped);
      expect(await evaluate({ subject: { roles: ['clerk'] }, ...question })).toEqual(allowed);
      expect(await access({ type: 'agent', id: 'bot' })).toEqual([false, 'stopped']);
      expect(await access({ type: 'user', id: 'x', properties: { roles: ['worker'] } })).toEqual([false, 'stopped']);
      expect(await access({ type: 'user', id: 'x' })).toEqual([true, null]);
      const explained = await send(app, 'POST', '/api/v1/policies/evaluate', {
        body: { agent: 'bot', ...question, explain: true },
      });
      expect(explained.body.explanation).toMatchObject({ nearest: [], bestEffect: 'deny' });
      const open = { open: true, requests: [{ agent: 'bot', ...question }] };
      const { results } = (await send(app, 'POST', '/api/v1/policies/evaluate', { body: open })).body;
      expect(results[0]).toMatchObject({ effect: 'deny', reason: 'stopped' });
    });

    it('does not cover a subject without an agent if it names one', async () => {
      await stop(app, { agentId: 'bot' });
      const body = { subject: { name: 'bot', roles: ['worker'] }, action: 'read', ...ALLOWED };
      expect((await send(app, 'POST', '/api/v1/policies/evaluate', { body })).body.effect).toBe('allow');
    });

    it('is known as of then', async () => {
      const made = await stop(app, { agentId: 'bot' });
      const [created] = await auditOf(app, made.id);
      await lift(app, made);
      const [, lifted] = await auditOf(app, made.id);
      const at = async (asOf: unknown): Promise<unknown> => {
        const body = { agent: 'bot', action: 'read', ...ALLOWED, asOf };
        return (await send(app, 'POST', '/api/v1/policies/evaluate', { body })).body.reason;
      };
      expect(await at((created?.sequence ?? 0) - 1)).toBeNull();
      expect(await at(created?.sequence)).toBe('stopped');
      expect(await at((lifted?.sequence ?? 0) - 1)).toBe('stopped');
      expect(await at(lifted?.sequence)).toBeNull();
    });

    it('follows the roles that an agent has', async () => {
      await createAgent(app, { name: 'mover', capabilities: ['*'], roles: [] });
      await stop(app, { role: 'night' });
      expect(await verdict(app, 'read', 'mover')).toBe('allowed');
      await send(app, 'PATCH', '/api/v1/agents/mover', { body: { roles: ['night'] } });
      expect(await verdict(app, 'read', 'mover')).toBe('stopped');
    });

    it('has nothing authorised after its entry, of many that race with it', async () => {
      const racing = Array.from({ length: RACING }, async (_, index) => {
        await sleep(index % 20);
        return execute(app);
      });
      await sleep(8);
      const { id } = await stop(app, { agentId: 'bot' });
      const answers = await Promise.all(racing);
      const [entry] = await auditOf(app, id);
      for (const { status, body } of answers) {
        if (status !== 200) continue;
        const [authorized] = await auditOf(app, body.id);
        expect(authorized?.sequence).toBeLessThan(entry?.sequence ?? 0);
      }
      expect(new Set(answers.map(verdictOf))).toContain('stopped');
      const later = `/api/v1/audit?action=execution.authorized&order=desc&limit=1`;
      expect((await send(app, 'GET', later)).body.data[0].sequence).toBeLessThan(entry?.sequence ?? 0);
    });
  });

  describe('being made and lifted', () => {
    it('says what it covers, and leaves an entry each time', async () => {
      const answer = await stopping(app, { agentId: 'bot', role: 'worker', actions: ['read', 'w*'] });
      const made = answer.body;
      expect({ status: answer.status, location: answer.headers.get('location') }).toEqual({
        ...{ status: 201, location: `${STOPS}/${made.id}` },
      });
      expect(made).toEqual({
        ...{ id: expect.stringMatching(/^stp_/), agentId: company.bot.id, role: 'worker', actions: ['read', 'w*'] },
        ...{ reason: 'It runs wild.', status: 'active', createdAt: expect.stringMatching(/Z$/), liftedAt: null },
      });
      expect((await send(app, 'GET', `${STOPS}/${made.id}`)).body).toEqual(made);
      const lifted = await lift(app, made);
      expect(lifted.status).toBe(200);
      expect(lifted.body).toEqual({ ...made, status: 'lifted', liftedAt: expect.stringMatching(/Z$/) });
      expect(await lift(app, made)).toMatchObject({ status: 200, body: lifted.body });
      expect(await auditOf(app, made.id)).toMatchObject([
        { action: 'stop.created', subjectType: 'stop', agentId: null, outcome: 'success', reason: null },
        { action: 'stop.lifted', subjectType: 'stop', agentId: null, reason: 'It is well again.' },
      ]);
    });

    it('twice with the same content is the first one, whoever repeats it', async () => {
      const first = await stop(app, { actions: ['read', 'write'] });
      const again = await stopping(app, { actions: ['write', 'read'] }, company.ann.key);
      expect(again).toMatchObject({ status: 200, body: first });
      expect((await stopping(app, { actions: ['read'] })).status).toBe(201);
      expect((await stopping(app, { actions: ['write', 'read'], reason: 'Another.' })).status).toBe(201);
      await lift(app, first);
      expect((await stopping(app, { actions: ['read', 'write'] })).status).toBe(201);
      expect(await actionsOf(app, first.id)).toEqual(['stop.created', 'stop.lifted']);
    });

    it.each([
      ['no reason', { reason: undefined }, 'reason'],
      ['a long reason', { reason: 'x'.repeat(2001) }, 'reason'],
      ['an unknown agent', { agentId: 'nobody' }, 'agentId'],
      ['no actions', { actions: [] }, 'actions'],
      ['51 actions', { actions: Array.from({ length: 51 }, (_, at) => `a${at}`) }, 'actions'],
      ['a pattern that is none', { actions: ['a*b'] }, 'actions[0]'],
      ['an action twice', { actions: ['a', 'a'] }, 'actions[1]'],
      ['a role that none can be', { role: ' a' }, 'role'],
      ['a member that is none', { agent: 'bot' }, 'agent'],
    ])('is refused with %s', async (_what, body, field) => {
      const answer = await stopping(app, body);
      expect(answer.status).toBe(400);
      expect(Object.keys(faults(answer))).toEqual([field]);
    });

    it('is lifted with a reason only, and where there is one', async () => {
      const { id } = await stop(app);
      const answer = await send(app, 'POST', `${STOPS}/${id}/lift`, { body: {} });
      expect([answer.status, Object.keys(faults(answer))]).toEqual([400, ['reason']]);
      expect((await lift(app, { id: 'stp_0' })).status).toBe(404);
      expect((await send(app, 'GET', `${STOPS}/stp_0`)).status).toBe(404);
    });

    it('is for people and admins, and lifted by who made it and admins', async () => {
      const unbound = (await issueKey(app, { scopes: ['review'] })).secret;
      const reader = (await issueKey(app, { scopes: ['read'], agentId: company.ann.id })).secret;
      const admin = (await issueKey(app, { scopes: ['admin'] })).secret;
      const refused = async (key: string): Promise<unknown> => {
        const { status, body } = await stopping(app, {}, key);
        return [status, body.error?.reason];
      };
      for (const key of [company.bot.key, company.other.key, unbound, reader])
        expect(await refused(key)).toEqual([403, 'scope_missing']);
      const [denied] = (await send(app, 'GET', '/api/v1/audit?action=access.denied&limit=1')).body.data;
      expect(denied).toMatchObject({ reason: 'scope_missing' });
      const byAnn = await stop(app, {}, company.ann.key);
      expect((await lift(app, byAnn, company.ben.key)).body.error.reason).toBe('scope_missing');
      const another = (await issueKey(app, { scopes: ['review'], agentId: company.ann.id })).secret;
      expect((await lift(app, byAnn, another)).body.status).toBe('lifted');
      const byAdmin = await stop(app, { agentId: 'other' }, admin);
      expect((await lift(app, byAdmin, company.ann.key)).status).toBe(403);
      expect((await lift(app, byAdmin)).status).toBe(200);
    });

    it('is taken a hundred times of one caller, and always for everything', async () => {
      for (let count = 0; count < 100; count += 1) await stop(app, { actions: [`a${count}`] }, company.ann.key);
      const more = await stopping(app, { actions: ['more'] }, company.ann.key);
      expect(more).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
      expect((await stopping(app, { actions: ['a7'] }, company.ann.key)).status).toBe(200);
      expect((await stopping(app, { actions: ['more'] }, company.ben.key)).status).toBe(201);
      const everything = await stop(app, {}, company.ann.key);
      const [first] = (await send(app, 'GET', `${STOPS}?status=active&order=asc`)).body.data;
      await lift(app, everything);
      await lift(app, first);
      expect((await stopping(app, { actions: ['more still'] }, company.ann.key)).status).toBe(201);
    });
  });

  it('is taken a thousand times of all callers, and then still for everything', async () => {
    const full = await createTestApp();
    const { id } = await stop(full, { actions: ['first'] });
    await full.application.get(LedgerService).write(SYSTEM_CALLER, async (transaction) => {
      const first = await transaction.find(STOP, id);
      if (first === undefined) throw new Error(`${id} is not stored.`);
      for (let count = 1; count < 999; count += 1) {
        const others = { id: transaction.newId(STOP), createdBy: `person ${count % 10}`, actions: [`a${count}`] };
        transaction.insert(STOP, { ...first, ...others }, { action: 'stop.created' });
      }
    });
    await stop(full, { actions: ['last'] });
    const more = await stopping(full, { actions: ['more'] });
    expect(more).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
    await stop(full, {});
    await full.close();
  });
});

describe('A person behind the address of a busy agent', () => {
  it('stops it and lifts the stop, although its requests have used up the limit', async () => {
    const app = await createTestApp({ environment: { RATE_LIMIT: '20' } });
    while ((await send(app, 'GET', '/api/v1/agents')).status !== 429);
    const made = await send(app, 'POST', STOPS, { body: { reason: 'It runs wild.' } });
    const lifted = await send(app, 'POST', `${STOPS}/${made.body.id}/lift`, { body: { reason: 'It calmed down.' } });
    expect([made.status, lifted.status]).toEqual([201, 200]);
    await app.close();
  });
});
