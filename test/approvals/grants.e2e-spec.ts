import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentResponse } from '../../src/governance/agents/dto/agent.dto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { ask, approve, company, type Company, DECISIONS, execution, order, pending, reject, resume } from './support';

const GRANTS = '/api/v1/grants';
/** Actions that need an approval, by what their policy allows its approvers to give. */
const ALLOWANCES = {
  refund: { for: 'PT1H', uses: 3 },
  send: { for: 'P90D', wider: true },
  pay: undefined,
};

describe('Grants', () => {
  let app: TestApp;
  let people: Company;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S', MAX_PENDING_APPROVALS: '500' } });
    people = await company(app);
    await send(app, 'PATCH', `/api/v1/agents/${people.bot.id}`, { body: { capabilities: ['*'] } });
    for (const [action, grant] of Object.entries(ALLOWANCES)) {
      const approval = { approvers: [{ subjects: ['role:finance'] }], ...(grant !== undefined && { grant }) };
      await createPolicy(app, { name: action, effect: 'require_approval', actions: [action], approval });
    }
    const approvers = [{ subjects: ['role:finance'], approvals: 2 }];
    const approval = { approvers, grant: { for: 'PT1H', wider: true } };
    await createPolicy(app, { name: 'both', effect: 'require_approval', actions: ['both'], approval });
  });
  afterAll(async () => {
    const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body).toMatchObject({ valid: true });
    await chainIsValid(app);
    await app.close();
  });

  async function give(decisionId: unknown, grant: object, approver = people.ann): Promise<Answer> {
    const body = { approverId: approver.id, grant };
    return send(app, 'POST', `${DECISIONS}/${String(decisionId)}/approve`, { body });
  }

  /** Asks, and has it approved with a grant, whose first use was the approval itself. */
  async function granted(body: Readonly<Record<string, unknown>>, grant: object = { for: 'PT1H' }): Promise<Parsed> {
    const { id, decisionId } = await pending(app, people.bot, body);
    expect((await give(decisionId, grant)).body.status).toBe('approved');
    expect((await resume(app, id)).status).toBe(200);
    const { body: list } = await send(app, 'GET', `${GRANTS}?decisionId=${String(decisionId)}`);
    expect(list.total).toBe(1);
    return list.data[0];
  }

  const read = async (id: string): Promise<Parsed> => (await send(app, 'GET', `${GRANTS}/${id}`)).body;
  const actionsOf = async (id: string): Promise<string[]> => (await auditOf(app, id)).map(({ action }) => action);

  it('serve exactly as often as was given, and then an approval is requested again', async () => {
    const place = order();
    const grant = await granted(place, { for: 'PT30M', uses: 2 });
    const { agentId, status, uses, used, resources, until, createdAt, resourceId } = grant;
    expect({ agentId, status, uses, used, resources, resourceId }).toEqual({
      ...{ agentId: people.bot.id, status: 'active', uses: 2, used: 0, resources: null },
      ...place,
    });
    expect(Date.parse(until) - Date.parse(createdAt)).toBe(1_800_000);
    const first = await ask(app, people.bot, place);
    expect([first.status, first.body.outcome, first.body.grantId]).toEqual([200, 'authorized', grant.id]);
    expect((await ask(app, people.bot, { ...place, parameters: { amount: 81 } })).status).toBe(202);
    expect((await read(grant.id)).used).toBe(1);
    expect((await ask(app, people.bot, place)).body.grantId).toBe(grant.id);
    expect(await read(grant.id)).toMatchObject({ status: 'used_up', used: 2 });
    expect((await ask(app, people.bot, place)).status).toBe(202);
    expect(await actionsOf(grant.id)).toEqual(['grant.created', 'grant.used_up']);
    const list = await send(app, 'GET', `/api/v1/executions?grantId=${grant.id}`);
    expect(list.body.total).toBe(2);
    const [entry] = await auditOf(app, first.body.id);
    const { revision } = (await send(app, 'GET', `/api/v1/agents/${people.ann.id}`)).body;
    expect(entry?.details).toMatchObject({ grantId: grant.id, approvers: [{ agentId: people.ann.id, revision }] });
  });

  it('an approved request comes first, then a rejection, then the grant, which cancels what waits', async () => {
    const place = order();
    const approved = await pending(app, people.bot, { ...place, run: 'one' });
    const waiting = await pending(app, people.bot, { ...place, run: 'two' });
    await give(approved.decisionId, { for: 'PT1H' });
    const again = await ask(app, people.bot, { ...place, run: 'one' });
    expect([again.status, again.body.id]).toEqual([202, approved.id]);
    const served = await ask(app, people.bot, { ...place, run: 'two' });
    expect([served.status, served.body.run]).toEqual([200, 'two']);
    for (const { id, decisionId } of [approved, waiting]) {
      expect((await execution(app, id)).outcome).toBe('cancelled');
      const { status } = (await send(app, 'GET', `${DECISIONS}/${String(decisionId)}`)).body;
      expect(status).toBe(id === waiting.id ? 'cancelled' : 'approved');
    }
    const elsewhere = order();
    const refused = await pending(app, people.bot, { ...elsewhere, run: 'one' });
    const other = await pending(app, people.bot, { ...elsewhere, run: 'two' });
    await reject(app, refused.decisionId, people.ann);
    await give(other.decisionId, { for: 'PT1H' });
    await resume(app, other.id);
    const reason = (await ask(app, people.bot, { ...elsewhere, run: 'three' })).body.error.reason;
    expect(reason).toBe('approval_rejected');
  });

  it('are made only if every reviewer gave the same, after defaults', async () => {
    const both = async (one: object | null, other: object | null, place = order()): Promise<number> => {
      const { decisionId } = await pending(app, people.bot, { ...place, action: 'both' });
      for (const [grant, approver] of [
        [one, people.ann],
        [other, people.ben],
      ] as const)
        await (grant === null ? approve(app, decisionId, approver) : give(decisionId, grant, approver));
      expect((await send(app, 'GET', `${DECISIONS}/${String(decisionId)}`)).body.status).toBe('approved');
      return (await send(app, 'GET', `${GRANTS}?decisionId=${String(decisionId)}`)).body.total;
    };
    const resources = ['accounts/*', 'bills/*'];
    const reversed = { for: 'PT1H', resources: resources.toReversed() };
    expect(await both({ for: 'PT1H' }, { for: 'PT1H', uses: null, parameters: 'same' })).toBe(1);
    expect(await both({ for: 'PT1H', resources }, reversed, { resourceId: 'bills/1' })).toBe(1);
    expect(await both({ for: 'PT1H' }, { for: 'PT60M' })).toBe(0);
    expect(await both({ for: 'PT1H' }, null)).toBe(0);
    expect(await both({ for: 'PT1H', uses: 1 }, { for: 'PT1H' })).toBe(0);
  });

  it('are as wide as was given: resources as those of an allow, any parameters', async () => {
    const wide = { for: 'P1D', resources: ['team/a/*'], parameters: 'any' };
    const { decisionId } = await pending(app, people.bot, { action: 'send', resourceId: 'team/a/1' });
    await give(decisionId, wide);
    const outcome = async (body: object): Promise<number> =>
      (await ask(app, people.bot, { action: 'send', ...body })).status;
    expect(await outcome({ resourceId: 'team/a/2', parameters: { to: 'x' } })).toBe(200);
    expect(await outcome({ resourceId: '/team/a/2' })).toBe(200);
    expect(await outcome({ resourceId: 'team/b/2' })).toBe(202);
    expect(await outcome({ resourceId: 'team/a/2', resourceType: 'other' })).toBe(202);
    expect(await outcome({ resourceId: 'team/a/2', onBehalfOf: { subject: 'user:1' } })).toBe(202);
    const star = await pending(app, people.bot, { action: 'send', resourceId: 'all/x' });
    await give(star.decisionId, { for: 'P1D' });
    expect((await resume(app, star.id)).status).toBe(200);
    expect(await outcome({ resourceId: 'all/y' })).toBe(202);
  });

  it.each([
    ['refund', { for: 'PT2H' }, 'grant.for'],
    ['refund', { for: 'PT1H', uses: 4 }, 'grant.uses'],
    ['refund', { for: 'PT1H', resources: ['*'] }, 'grant.resources'],
    ['refund', { for: 'PT1H', parameters: 'any' }, 'grant.parameters'],
    ['pay', { for: 'PT1S' }, 'grant'],
    ['send', { for: 'P91D' }, 'grant.for'],
    ['send', { for: 'PT1H', uses: 0 }, 'grant.uses'],
    ['send', { for: 'PT1H', uses: 10_001 }, 'grant.uses'],
    ['send', { for: 'PT1H', resources: [] }, 'grant.resources'],
    ['send', { for: 'PT1H', resources: ['a/../b'] }, 'grant.resources[0]'],
    ['send', { for: 'PT1H', resources: ['salaries/*', 'orders'] }, 'grant.resources'],
    ['send', {}, 'grant.for'],
  ])('%s: a grant %j is refused at %s, and nothing is lost', async (action, grant, field) => {
    const { decisionId } = await pending(app, people.bot, { ...order(), action });
    const answer = await give(decisionId, grant);
    expect([answer.status, Object.keys(faults(answer))]).toEqual([400, [field]]);
    expect((await give(decisionId, action === 'pay' ? {} : { for: 'PT1H' })).status).toBe(action === 'pay' ? 400 : 200);
  });

  it('serve only what their reviewers could approve today', async () => {
    const place = order();
    const { id } = await granted(place);
    const statusOf = async (): Promise<number> => ((await evaluate(place)).grantId === undefined ? 202 : 200);
    expect(await statusOf()).toBe(200);
    const change = (body: object): Promise<Answer> => send(app, 'PATCH', `/api/v1/agents/${people.ann.id}`, { body });
    await send(app, 'POST', `/api/v1/agents/${people.ann.id}/suspend`);
    expect(await statusOf()).toBe(202);
    await send(app, 'POST', `/api/v1/agents/${people.ann.id}/resume`);
    expect(await statusOf()).toBe(200);
    await change({ roles: ['security'] });
    expect(await statusOf()).toBe(202);
    await change({ roles: ['finance'] });
    const deny = { name: 'no', effect: 'deny', actions: ['decision:approve'], subjects: ['agent:ann'] };
    const { id: denying } = await createPolicy(app, { ...deny, resources: ['decisions/*'] });
    expect(await statusOf()).toBe(202);
    await send(app, 'POST', `/api/v1/policies/${denying}/deactivate`);
    const tighter = async (version: string, grant: object | undefined): Promise<number> => {
      const approval = { approvers: [{ subjects: ['role:finance'] }], ...(grant && { grant }) };
      await createPolicy(app, { name: 'refund', version, effect: 'require_approval', actions: ['refund'], approval });
      return statusOf();
    };
    expect(await tighter('2', { for: 'PT1H', uses: 2 })).toBe(202);
    expect(await tighter('3', undefined)).toBe(202);
    expect(await tighter('4', { for: 'PT1S', uses: 3 })).toBeGreaterThan(0);
    await sleep(1_100);
    expect(await statusOf()).toBe(202);
    expect(await tighter('5', ALLOWANCES.refund)).toBe(200);
    expect((await read(id)).used).toBe(0);
  });

  async function evaluate(place: object): Promise<Parsed> {
    const question = { action: 'refund', resourceType: 'payment', parameters: { amount: 80 }, agent: 'bot', ...place };
    return (await send(app, 'POST', '/api/v1/policies/evaluate', { body: question })).body;
  }

  it('are known to evaluate, and to nothing else that only asks', async () => {
    const place = order();
    const { id } = await granted(place);
    expect(await evaluate(place)).toMatchObject({ effect: 'allow', reason: null, approval: null, grantId: id });
    expect(await evaluate({ ...place, parameters: {} })).toMatchObject({ effect: 'require_approval' });
    const { createdAt: asOf } = await read(id);
    expect(await evaluate({ ...place, asOf })).toMatchObject({ effect: 'require_approval' });
    const subject = { type: 'agent', id: 'bot' };
    const resource = { type: 'payment', id: place.resourceId, properties: {} };
    const body = { subject, action: { name: 'refund', properties: { amount: 80 } }, resource };
    expect((await send(app, 'POST', '/access/v1/evaluation', { body })).body.decision).toBe(false);
  });

  it('are looked for with one hash of the parameters that the questions of a list share', async () => {
    const marker = 'parameters of a whole list';
    const rejected = { action: 'send', resourceId: '/listed/x', parameters: { marker } };
    await reject(app, (await pending(app, people.bot, rejected)).decisionId, people.ann);
    const { decisionId } = await pending(app, people.bot, { action: 'send', resourceId: 'listed/0' });
    await give(decisionId, { for: 'PT1H', resources: ['listed/*'], parameters: 'any' });
    const stringify = jest.spyOn(JSON, 'stringify');
    const requests = Array.from({ length: 200 }, (_, index) => ({ resourceId: `listed/${index + 1}` }));
    const { results } = await evaluate({ action: 'send', resourceId: undefined, parameters: { marker }, requests });
    const written = stringify.mock.calls.filter(([value]) => Object.hasOwn(Object(value), 'marker'));
    stringify.mockRestore();
    expect(results.map(({ effect }: Parsed) => effect)).toEqual(requests.map(() => 'allow'));
    expect(written).toHaveLength(1);
  });

  it('are kept out by rejections that are not read whole', async () => {
    const request = { action: 'send', resourceId: 'whole/1', parameters: { text: 'rejected text' } };
    const refused = await pending(app, people.bot, request);
    await reject(app, refused.decisionId, people.ann);
    const { decisionId } = await pending(app, people.bot, { ...request, resourceId: 'whole/2' });
    await give(decisionId, { for: 'PT1H', resources: ['whole/*'] });
    const parse = jest.spyOn(JSON, 'parse');
    const again = await ask(app, people.bot, { ...request, resourceId: '/whole/1' });
    const read = parse.mock.calls.filter(([text]) => text === JSON.stringify(request.parameters));
    parse.mockRestore();
    expect(again.status).toBe(202);
    expect(read).toHaveLength(0);
  });

  it('a replay under an idempotency key takes no use, while the grant still holds', async () => {
    const place = order();
    const { id } = await granted(place, { for: 'PT1H', uses: 1 });
    const headers = { 'Idempotency-Key': `once-${id}` };
    const first = await ask(app, people.bot, place, headers);
    expect(first.body.grantId).toBe(id);
    expect((await ask(app, people.bot, place, headers)).body).toEqual(first.body);
    expect(await read(id)).toMatchObject({ status: 'used_up', used: 1 });
    await send(app, 'POST', `/api/v1/agents/${people.ann.id}/suspend`);
    expect((await ask(app, people.bot, place, headers)).status).toBe(202);
    await send(app, 'POST', `/api/v1/agents/${people.ann.id}/resume`);
  });

  it('expire by themselves, and serve nothing from then on', async () => {
    const place = order();
    const { id } = await granted(place, { for: 'PT1S' });
    await sleep(1_050);
    expect((await ask(app, people.bot, place)).status).toBe(202);
    for (let round = 0; (await read(id)).status === 'active' && round < 100; round += 1) await sleep(50);
    expect((await read(id)).status).toBe('expired');
    expect(await actionsOf(id)).toEqual(['grant.created', 'grant.expired']);
    expect((await send(app, 'POST', `${GRANTS}/${id}/revoke`)).status).toBe(409);
  });

  it('are revoked by who gave them, by admins and by callers that are not bound', async () => {
    const keyOf = async ({ id: agentId }: AgentResponse, scopes: string[]): Promise<string> =>
      (await issueKey(app, { agentId, scopes })).secret;
    const revoke = (id: string, key?: string): Promise<Answer> =>
      send(app, 'POST', `${GRANTS}/${id}/revoke`, { body: { reason: 'over' }, ...(key !== undefined && { key }) });
    const place = order();
    const { id } = await granted(place);
    const refused = await revoke(id, await keyOf(people.ben, ['review']));
    expect([refused.status, refused.body.error.reason]).toEqual([403, 'not_an_approver']);
    expect((await revoke(id, await keyOf(people.bot, ['execute']))).status).toBe(403);
    expect((await revoke(id, await keyOf(people.ann, ['review']))).body).toMatchObject({ id, status: 'revoked' });
    expect((await revoke(id)).status).toBe(409);
    // The state of the grant is checked before the caller.
    expect((await revoke(id, await keyOf(people.ben, ['review']))).status).toBe(409);
    expect((await ask(app, people.bot, place)).status).toBe(202);
    for (const key of [undefined, (await issueKey(app, { scopes: ['review'] })).secret])
      expect((await revoke((await granted(order())).id, key)).status).toBe(200);
    const [, entry] = await auditOf(app, id);
    expect(entry).toMatchObject({ action: 'grant.revoked', reason: 'over', agentId: people.bot.id });
  });

  it('agents see their own', async () => {
    const { id } = await granted(order());
    const other = await createAgent(app, { name: 'other-bot' });
    const keyOf = async (agentId: string): Promise<string> =>
      (await issueKey(app, { agentId, scopes: ['execute'] })).secret;
    const seen = async (key: string): Promise<unknown[]> => [
      (await send(app, 'GET', `${GRANTS}/${id}`, { key })).status,
      (await send(app, 'GET', GRANTS, { key })).body.total > 0,
    ];
    expect(await seen(await keyOf(people.bot.id))).toEqual([200, true]);
    expect(await seen(await keyOf(other.id))).toEqual([404, false]);
    const unbound = (await issueKey(app, { scopes: ['execute', 'propose'] })).secret;
    expect((await send(app, 'GET', GRANTS, { key: unbound })).status).toBe(403);
    const { secret: audits } = await issueKey(app, { agentId: people.bot.id, scopes: ['audit'] });
    expect(await seen(audits)).toEqual([200, true]);
    const listByName = await send(app, 'GET', `${GRANTS}?agentId=bot&status=active`);
    expect(listByName.body.data.map((grant: Parsed) => grant.id)).toContain(id);
  });

  it('several end with their decisions in one erasure', async () => {
    const grants = [await granted(order()), await granted(order()), await granted(order())];
    await send(app, 'POST', `${GRANTS}/${grants[1].id}/revoke`);
    const subjects = grants.map(({ decisionId: id }) => ({ type: 'decision', id }));
    expect((await send(app, 'POST', '/api/v1/erasures', { body: { subjects, reason: 'asked for' } })).status).toBe(201);
    for (const { id } of grants) expect(await read(id)).toMatchObject({ status: 'revoked', resourceId: '' });
  });

  it('for more than was requested serve nothing that was rejected, in any spelling', async () => {
    const request = { action: 'send', resourceId: 'spelled/é' };
    await reject(app, (await pending(app, people.bot, request)).decisionId, people.ann);
    const { decisionId } = await pending(app, people.bot, { ...request, resourceId: 'spelled/other' });
    await give(decisionId, { for: 'PT1H', resources: ['spelled/*'], parameters: 'any' });
    for (const resourceId of ['/spelled/é', 'spelled/e\u0301', '/spelled/e\u0301', 'spelled/%C3%A9'])
      expect((await ask(app, people.bot, { ...request, resourceId })).status).toBe(202);
    for (const resourceId of [request.resourceId, '/spelled/é', 'spelled/%C3%A9'])
      expect((await evaluate({ ...request, resourceId })).effect).toBe('require_approval');
    expect((await evaluate({ ...request, resourceId: 'spelled/third' })).effect).toBe('allow');
    expect((await ask(app, people.bot, { ...request, parameters: { amount: 1 } })).status).toBe(200);
    expect((await ask(app, people.bot, { ...request, resourceId: 'spelled/third' })).status).toBe(200);
  });

  it('for exactly the request serve it although an older one for more is kept out by another rejected spelling', async () => {
    const request = { action: 'send', resourceId: 'narrow/1' };
    await reject(app, (await pending(app, people.bot, { ...request, resourceId: '/narrow/1' })).decisionId, people.ann);
    const { decisionId } = await pending(app, people.bot, { ...request, resourceId: 'narrow/2' });
    await give(decisionId, { for: 'PT1H', resources: ['narrow/*'] });
    const exact = await granted(request);
    expect((await evaluate(request)).effect).toBe('allow');
    expect((await ask(app, people.bot, request)).body.grantId).toBe(exact.id);
  });

  it('end when their decision is erased, and say no more what they were for', async () => {
    const place = order();
    const grant = await granted(place);
    const used = await ask(app, people.bot, place);
    expect(used.body.grantId).toBe(grant.id);
    const subjects = [{ type: 'decision', id: grant.decisionId }];
    expect((await send(app, 'POST', '/api/v1/erasures', { body: { subjects, reason: 'asked for' } })).status).toBe(201);
    expect(await read(grant.id)).toEqual({
      ...grant,
      ...{ status: 'revoked', used: 1, resourceId: '', resources: null, parametersHash: null, onBehalfOf: null },
    });
    expect(await actionsOf(grant.id)).toEqual(['grant.created', 'grant.revoked', 'grant.erased']);
    expect((await ask(app, people.bot, place)).status).toBe(202);
  });

  it('at most a hundred of an agent are active', async () => {
    const busy = await createAgent(app, { name: 'busy', capabilities: ['refund'] });
    const newDecisionId = async (): Promise<unknown> => (await pending(app, busy, order())).decisionId;
    for (let count = 0; count < 100; count += 1)
      expect((await give(await newDecisionId(), { for: 'PT1H' })).status).toBe(200);
    const decisionId = await newDecisionId();
    expect((await give(decisionId, { for: 'PT1H' })).status).toBe(409);
    expect((await approve(app, String(decisionId), people.ann)).status).toBe(200);
  });

  describe('What a reviewer would approve instead', () => {
    async function rejected(action: string, instead: object, approver = people.ann): Promise<Parsed> {
      const request = await pending(app, people.bot, { ...order(), action });
      const body = { approverId: approver.id, comment: 'too much', instead };
      const answer = await send(app, 'POST', `${DECISIONS}/${String(request.decisionId)}/reject`, { body });
      expect(answer.status).toBe(200);
      return execution(app, request.id);
    }

    it('may be executed once where that reviewer alone decides, with any grants that the policies allow', async () => {
      const { id, resourceId, instead, rejection } = await rejected('pay', { parameters: { amount: 50 } });
      expect(instead).toEqual({ parameters: { amount: 50 }, grantId: expect.stringMatching(/^grt_/) });
      expect(rejection).toEqual({ comment: 'too much', instead });
      expect(await read(instead.grantId)).toMatchObject({ uses: 1, used: 0, status: 'active', resources: null });
      const body = { action: 'pay', resourceId };
      expect((await ask(app, people.bot, body)).body.error.rejection).toEqual(rejection);
      const served = await ask(app, people.bot, { ...body, parameters: { amount: 50 } });
      expect([served.status, served.body.grantId]).toEqual([200, instead.grantId]);
      expect((await ask(app, people.bot, { ...body, parameters: { amount: 50 } })).status).toBe(202);
      const [, entry] = (await auditOf(app, id)).slice(-2);
      expect(entry?.action).toBe('execution.rejected');
    });

    it('is a hint where others have to approve too, or the reviewer could not', async () => {
      const { instead } = await rejected('both', { parameters: { amount: 50 } });
      expect(instead).toEqual({ parameters: { amount: 50 }, grantId: null });
      const { instead: own } = await rejected('pay', { parameters: {} }, people.bot);
      expect(own).toEqual({ parameters: {}, grantId: null });
    });

    it('has other parameters, a reviewer and an execution', async () => {
      const { decisionId } = await pending(app, people.bot, order());
      const refused = async (id: unknown, body: object): Promise<unknown[]> => {
        const answer = await send(app, 'POST', `${DECISIONS}/${String(id)}/reject`, { body });
        return [answer.status, Object.keys(faults(answer))];
      };
      const approverId = people.ann.id;
      const same = { parameters: { amount: 80 } };
      expect(await refused(decisionId, { approverId, instead: same })).toEqual([400, ['instead.parameters']]);
      expect(await refused(decisionId, { instead: { parameters: {} } })).toEqual([400, ['instead']]);
      expect(await refused(decisionId, { approverId, instead: {} })).toEqual([400, ['instead.parameters']]);
      expect(await refused(decisionId, { approverId, instead: { parameters: [] } })).toEqual([
        400,
        ['instead.parameters'],
      ]);
    });
  });

  // The last one, as the ledger's clock does not go back.
  it('for more than was requested serve what was rejected for another principal, or a day ago', async () => {
    const request = { action: 'send', resourceId: 'again/1' };
    const forBob = { ...request, onBehalfOf: { subject: 'user:bob' } };
    await reject(app, (await pending(app, people.bot, request)).decisionId, people.ann);
    const wide = { for: 'P2D', resources: ['again/*'] };
    for (const other of [request, forBob])
      await give((await pending(app, people.bot, { ...other, resourceId: 'again/2' })).decisionId, wide);
    expect((await ask(app, people.bot, forBob)).status).toBe(200);
    expect((await ask(app, people.bot, { ...request, resourceId: '/again/1' })).status).toBe(202);
    await moveTime(25 * 3_600_000);
    try {
      for (const resourceId of ['/again/1', 'again/1'])
        expect((await ask(app, people.bot, { ...request, resourceId })).status).toBe(200);
    } finally {
      await restoreTime();
    }
  });
});
