import { createTestApp } from '../support/application/create-test-app';
import { auditOf, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { faults, send, type Answer } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { canonicalHash } from '../verification/recompute-chain';
import { approve, ask, company, DECISIONS, execution, EXECUTIONS, order, pending, reject, resume } from './support';

type Members = Readonly<Record<string, unknown>>;

const USER = { subject: 'user:4711', roles: ['finance', 'audit'] };
const LOOK = { action: 'send', resourceType: 'document', resourceId: 'a', parameters: {} };

describe('On whose behalf an agent acts', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const people = await company(app);
    await createPolicy(app, { actions: ['send'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(app, { effect: 'require_approval', actions: ['refund'], approval });
    return { app, people, bot: people.bot };
  });

  function look(onBehalfOf: unknown, more: Members = {}, key?: string): Promise<Answer> {
    const body = { ...LOOK, ...(onBehalfOf !== undefined && { onBehalfOf }), ...more };
    return send(stage.app, 'POST', `/api/v1/agents/bot/execute`, { body, ...(key !== undefined && { key }) });
  }

  function evaluate(body: Members, key?: string): Promise<Answer> {
    const question = { agent: 'bot', ...LOOK, ...body };
    return send(stage.app, 'POST', '/api/v1/policies/evaluate', { body: question, ...(key !== undefined && { key }) });
  }

  async function person(name: string, more: Members = {}): Promise<string> {
    return (await createAgent(stage.app, { name, kind: 'human', ...more })).id;
  }

  const fieldsOf = (answer: Answer): string[] => Object.keys(faults(answer));
  const reasonOf = ({ status, body }: Answer): [number, string | undefined] => [status, body?.error?.reason];

  it('is kept with the execution, and part of the action', async () => {
    const { body } = await look(USER, { run: 'run 1' });
    const onBehalfOf = { subject: 'user:4711', roles: ['audit', 'finance'] };
    expect(body).toMatchObject({ outcome: 'authorized', onBehalfOf, run: 'run 1' });
    const hashedMembers = { agentId: stage.bot.id, ...LOOK };
    expect(body.actionHash).toBe(canonicalHash({ ...hashedMembers, onBehalfOf }));
    const without = (await look({ subject: 'user:4711', roles: [] })).body;
    expect(without.onBehalfOf).toEqual({ subject: 'user:4711' });
    expect(without.actionHash).toBe(canonicalHash({ ...hashedMembers, onBehalfOf: { subject: 'user:4711' } }));
    await look({ subject: 'user:zoe\u0308' });
    const zoe = await send(stage.app, 'GET', `${EXECUTIONS}?principal=user:zoe%CC%88`);
    expect(zoe.body.data).toMatchObject([{ onBehalfOf: { subject: 'user:zoë' } }]);
    const nobody = (await look(undefined)).body;
    expect(nobody).toMatchObject({ onBehalfOf: null, run: null, actionHash: canonicalHash(hashedMembers) });
    const [entry] = (await send(stage.app, 'GET', `/api/v1/provenance?subjectId=${body.id}`)).body.data;
    const { state } = (await send(stage.app, 'GET', `/api/v1/provenance/${entry.sequence}`)).body;
    expect(state).toMatchObject({ onBehalfOf, run: 'run 1' });
    expect(Object.keys(state)).not.toContain('principal');
  });

  it('may be a registered person, by name or id, with its own roles', async () => {
    const id = await person('zoë', { roles: ['finance'] });
    const { body } = await look({ subject: 'agent:zoe\u0308' });
    expect(body.onBehalfOf).toEqual({ subject: `agent:${id}` });
    const [entry] = await auditOf(stage.app, body.id);
    expect(entry?.details).toMatchObject({ principalRevision: 1 });
    const byId = (await look({ subject: `agent:${id}` })).body;
    expect(byId.actionHash).toBe(body.actionHash);
    for (const principal of [`agent:${id}`, 'agent:zoe%CC%88']) {
      const { data } = (await send(stage.app, 'GET', `${EXECUTIONS}?principal=${principal}`)).body;
      expect(data.map((one: { id: string }) => one.id)).toEqual([body.id, byId.id]);
    }
  });

  it.each([
    ['an unknown person', { subject: 'agent:nobody' }, ['onBehalfOf.subject']],
    ['a machine', { subject: 'agent:bot' }, ['onBehalfOf.subject']],
    ['roles of a person', { subject: 'agent:ann', roles: ['boss'] }, ['onBehalfOf.roles']],
    ['no type', { subject: 'alice' }, ['onBehalfOf.subject']],
    ['no id', { subject: 'user:' }, ['onBehalfOf.subject']],
    ['a role', { subject: 'role:finance' }, ['onBehalfOf.subject']],
    ['a kind', { subject: 'kind:human' }, ['onBehalfOf.subject']],
    ['a principal', { subject: 'principal:x' }, ['onBehalfOf.subject']],
    ['a format character', { subject: 'user:a\u200b' }, ['onBehalfOf.subject']],
    ['a role twice', { subject: 'user:a', roles: ['a', 'a'] }, ['onBehalfOf.roles[1]']],
    ['too many roles', { subject: 'user:a', roles: Array.from({ length: 51 }, String) }, ['onBehalfOf.roles']],
    ['another member', { subject: 'user:a', name: 'a' }, ['onBehalfOf.name']],
    ['no object', 'user:a', ['onBehalfOf']],
  ])('cannot be %s', async (_what, onBehalfOf, fields) => {
    const refused = await look(onBehalfOf);
    expect([refused.status, fieldsOf(refused)]).toEqual([400, fields]);
    const evaluation = await evaluate({ onBehalfOf });
    expect([evaluation.status, fieldsOf(evaluation)]).toEqual([400, fields]);
  });

  it.each(['', ' ', 'a\u0000', 'a\nb', 'a\u200bb', 'x'.repeat(201), 7])('has no run %j', async (run) => {
    expect((await look(undefined, { run })).status).toBe(400);
  });

  it('refuses while the person is suspended, after the suspension of the agent', async () => {
    const { app } = stage;
    const id = await person('sam');
    await createAgent(app, { name: 'idle' });
    const onBehalfOf = { subject: 'agent:sam' };
    const waiting = await pending(app, stage.bot, { ...order(), onBehalfOf });
    await approve(app, waiting.decisionId, stage.people.ann);
    await send(app, 'POST', `/api/v1/agents/${id}/suspend`);
    const refused = await look(onBehalfOf);
    expect(reasonOf(refused)).toEqual([403, 'principal_suspended']);
    expect(refused.body.error.message).toContain('"sam"');
    const { data } = (await send(app, 'GET', `${EXECUTIONS}?principal=agent:sam&outcome=denied`)).body;
    expect(data).toMatchObject([{ reason: 'principal_suspended', policies: [] }]);
    expect(await auditOf(app, data[0].id)).toMatchObject([
      { action: 'execution.denied', reason: 'principal_suspended', details: { principalRevision: 2 } },
    ]);
    expect((await evaluate({ onBehalfOf })).body).toMatchObject({ effect: 'deny', reason: 'principal_suspended' });
    const other = { agent: null, subject: { name: 'new' }, onBehalfOf };
    expect((await evaluate(other)).body).toMatchObject({ effect: 'deny', reason: 'principal_suspended' });
    expect(reasonOf(await resume(app, waiting.id))).toEqual([403, 'principal_suspended']);
    await send(app, 'POST', `/api/v1/agents/idle/suspend`);
    expect((await evaluate({ agent: 'idle', onBehalfOf })).body.reason).toBe('agent_suspended');
    await send(app, 'POST', `/api/v1/agents/${id}/resume`);
    expect((await resume(app, waiting.id)).body).toMatchObject({
      outcome: 'authorized',
      onBehalfOf: { subject: `agent:${id}` },
    });
  });

  describe('is what the caller vouches for:', () => {
    async function boundKey(principals?: readonly string[], scopes = ['execute']): Promise<string> {
      const bound = { scopes, agentId: 'bot', ...(principals !== undefined && { principals }) };
      return (await issueKey(stage.app, bound)).secret;
    }

    it.each([
      [undefined, { subject: 'user:a' }, 'not_this_principal'],
      [[], { subject: 'agent:ann' }, 'not_this_principal'],
      [['user:a'], { subject: 'user:a' }, undefined],
      [['user:a'], { subject: 'user:b' }, 'not_this_principal'],
      [['user:*'], { subject: 'user:b' }, undefined],
      [['*'], { subject: 'user:b' }, undefined],
      [['*'], { subject: 'user:b', roles: ['x'] }, 'not_this_principal'],
      [['user:*', 'role:x'], { subject: 'user:b', roles: ['x'] }, undefined],
      [['user:*', 'role:x'], { subject: 'user:b', roles: ['x', 'y'] }, 'not_this_principal'],
      // Roles that the caller states cannot make a pattern match.
      [['role:x'], { subject: 'user:b', roles: ['x'] }, 'not_this_principal'],
      [['role:finance'], { subject: 'agent:ann' }, undefined],
      [['role:finance'], { subject: 'agent:eve' }, 'not_this_principal'],
      [['agent:ann'], { subject: 'agent:ann' }, undefined],
      [['agent:ann'], { subject: 'agent:ben' }, 'not_this_principal'],
      [['agent:*'], { subject: 'agent:ben' }, undefined],
      // Who may not see people learns of none.
      [['agent:ann'], { subject: 'agent:nobody' }, 'not_this_principal'],
    ])('a key with %j, of %j', async (principals, onBehalfOf, reason) => {
      const key = await boundKey(principals);
      const answer = await look(onBehalfOf, {}, key);
      expect(reasonOf(answer)).toEqual(reason === undefined ? [200, undefined] : [403, reason]);
      const evaluation = await evaluate({ onBehalfOf }, key);
      expect(reasonOf(evaluation)).toEqual(reason === undefined ? [200, undefined] : [403, reason]);
    });

    it.each([
      ['another agent', ['read', 'review'], 'bot', undefined],
      ['another agent without review', ['read'], 'bot', 'not_this_principal'],
      ['another agent without read', ['review', 'execute'], 'bot', 'not_this_agent'],
      ['its own agent', ['read', 'review'], 'ann', 'not_this_principal'],
    ])('a reviewer asks about %s', async (_about, scopes, agent, reason) => {
      const { secret } = await issueKey(stage.app, { scopes, agentId: 'ann' });
      const answer = await evaluate({ agent, onBehalfOf: { subject: 'user:b', roles: ['x'] } }, secret);
      expect(reasonOf(answer)).toEqual(reason === undefined ? [200, undefined] : [403, reason]);
    });

    it('a refusal is on record, and one question refuses all', async () => {
      const { app } = stage;
      const { id, secret } = await issueKey(app, { scopes: ['execute'], agentId: 'bot', principals: ['user:a'] });
      const requests = [{ onBehalfOf: { subject: 'user:a' } }, { onBehalfOf: { subject: 'user:b' } }];
      const body = { agent: 'bot', ...LOOK, requests };
      const refused = await send(app, 'POST', '/api/v1/policies/evaluate', { key: secret, body });
      expect(reasonOf(refused)).toEqual([403, 'not_this_principal']);
      expect(await auditOf(app, id)).toMatchObject([
        { action: 'api_key.created' },
        { action: 'access.denied', reason: 'not_this_principal', details: { route: '/api/v1/policies/evaluate' } },
      ]);
      const total = (await send(app, 'GET', `${EXECUTIONS}?principal=user:b&outcome=denied`)).body.total;
      expect(total).toBe(0);
    });

    it('a key that may not act for the principal of an execution does not resume it', async () => {
      const { app, people } = stage;
      const request = await pending(app, stage.bot, { ...order(), onBehalfOf: { subject: 'user:a' } });
      await approve(app, request.decisionId, people.ann);
      const resumeBy = (key: string): Promise<Answer> =>
        send(app, 'POST', `${EXECUTIONS}/${request.id}/resume`, { key });
      expect(reasonOf(await resumeBy(await boundKey(['user:b'])))).toEqual([403, 'not_this_principal']);
      expect((await resumeBy(await boundKey(['user:*']))).body.outcome).toBe('authorized');
    });

    it('patterns are checked, and belong to bound keys', async () => {
      const issue = (body: Members): Promise<Answer> =>
        send(stage.app, 'POST', '/api/v1/api-keys', { body: { name: 'a', scopes: ['execute'], ...body } });
      const wrong = ['kind:human', 'role:*', 'bot', 'user:', 'us*:a', 'user:a*', 'principal:x', ''];
      const refused = await issue({ agentId: 'bot', principals: wrong });
      expect(fieldsOf(refused)).toEqual(wrong.map((_, index) => `principals[${index}]`));
      expect(fieldsOf(await issue({ principals: ['*'] }))).toEqual(['principals']);
      expect((await issue({ agentId: 'bot', principals: ['*'] })).body.principals).toEqual(['*']);
      expect((await issue({ agentId: 'bot' })).body.principals).toEqual([]);
    });
  });

  describe('and its run:', () => {
    it('a repeated request gets the execution of the same run', async () => {
      const { app, bot, people } = stage;
      const about = order();
      const [one, two, none] = [
        await pending(app, bot, { ...about, run: 'one' }),
        await pending(app, bot, { ...about, run: 'two' }),
        await pending(app, bot, about),
      ];
      expect(new Set([one.id, two.id, none.id]).size).toBe(3);
      await approve(app, one.decisionId, people.ann);
      expect((await ask(app, bot, { ...about, run: 'one' })).body).toMatchObject({ id: one.id, outcome: 'approved' });
      expect((await ask(app, bot, { ...about, run: 'two' })).body).toMatchObject({
        id: two.id,
        outcome: 'pending_approval',
      });
      expect((await ask(app, bot, about)).body.id).toBe(none.id);
    });

    it('a rejection holds in every run, for that principal', async () => {
      const { app, bot, people } = stage;
      const about = order();
      const onBehalfOf = { subject: 'user:a' };
      const { decisionId } = await pending(app, bot, { ...about, onBehalfOf, run: 'one' });
      await reject(app, decisionId, people.ann);
      expect(reasonOf(await ask(app, bot, { ...about, onBehalfOf, run: 'two' }))).toEqual([403, 'approval_rejected']);
      expect((await ask(app, bot, { ...about, run: 'one' })).status).toBe(202);
    });

    it('both are shown with the decision, now and then, and lists are filtered by them', async () => {
      const { app, bot, people } = stage;
      const context = { onBehalfOf: USER, run: 'a run of its own' };
      const request = await pending(app, bot, { ...order(), ...context });
      const both = { onBehalfOf: { subject: 'user:4711', roles: ['audit', 'finance'] }, run: context.run };
      const approved = await approve(app, request.decisionId, people.ann);
      expect(approved.body).toMatchObject(both);
      const path = `${DECISIONS}/${String(request.decisionId)}`;
      expect((await send(app, 'GET', path)).body).toMatchObject(both);
      const { sequence } = (await auditOf(app, String(request.decisionId)))[0] ?? {};
      expect((await send(app, 'GET', `${path}?asOf=${sequence}`)).body).toMatchObject({ status: 'proposed', ...both });
      for (const [list, id] of [
        [DECISIONS, request.decisionId],
        [EXECUTIONS, request.id],
      ]) {
        const { data, total } = (await send(app, 'GET', `${list}?run=a%20run%20of%20its%20own`)).body;
        expect([total, data.map((one: { id: string }) => one.id)]).toEqual([1, [id]]);
      }
      expect(await execution(app, request.id)).toMatchObject(both);
    });
  });
});
