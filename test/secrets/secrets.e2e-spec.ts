import { createHmac } from 'node:crypto';
import { Injectable, Module } from '@nestjs/common';
import { type ActionContext, ActionHandler } from '../../src/governance/executions/handlers/action-handlers';
import { canonicalJson } from '../../src/ledger/chain/canonical-json';
import type { JsonValue } from '../../src/core/json/json-value';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createPolicy, issueKey } from '../support/application/factories';
import { type Answer, faults, isReplayed, type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import {
  approve,
  ask,
  type Company,
  company,
  DECISIONS,
  execution,
  EXECUTIONS,
  order,
  requireApproval,
} from '../approvals/support';

const KEY = Buffer.alloc(32, 'secrets');
const SHA256 = { $sha256: 'c0ffee', bytes: 3 };
const handled: ActionContext[] = [];

@Injectable()
class Handlers {
  @ActionHandler('send')
  send(context: ActionContext): unknown {
    handled.push(context);
    const { parameters } = context;
    return {
      token: parameters['token'] ?? null,
      session: 'session-of-handler',
      ...(parameters['isWrong'] === true && { a: { $hmac: 'x' } }),
    };
  }
}

@Module({ providers: [Handlers] })
class HandlersModule {}

/** Computes the hash that stands for a value, without code of the implementation. */
function hmac(agentId: string | null, pointer: string, value: JsonValue): Buffer {
  return createHmac('sha256', KEY).update(canonicalJson({ agentId, pointer, value })).digest().subarray(0, 16);
}

/** A resource for which no approval is needed. */
function free(): { readonly resourceId: string } {
  return { resourceId: `free/${order().resourceId}` };
}

describe('Secrets of requests', () => {
  const stage = stageOf(async (): Promise<{ app: TestApp; people: Company }> => {
    const environment = {
      SECRET_KEY: KEY.toString('base64'),
      PERMIT_AUDIENCES: 'bank',
      PUBLIC_URL: 'https://governance.example.com',
      RETAIN_AT_LEAST: 'PT0S',
    };
    const app = await createTestApp({ environment, modules: [HandlersModule] });
    const people = await company(app);
    await createPolicy(app, { actions: ['send'], priority: 1 });
    await createPolicy(app, { resources: ['free/*'], priority: 5 });
    await requireApproval(app, { grant: { for: 'P1D', uses: 5, wider: false } });
    await requireApproval(app, {}, { actions: ['send'], resources: ['approved/*'], priority: 5 });
    return { app, people };
  });

  const sealed = (pointer: string, value: JsonValue): JsonValue => {
    return { $secret: hmac(stage.people.bot.id, pointer, value).toString('base64url') };
  };
  const askFor = (parameters: object, more: object = {}, headers = {}): Promise<Answer> =>
    ask(stage.app, stage.people.bot, { ...order(), parameters, ...more }, headers);

  it('are replaced in what execute answers and keeps, and nothing else is', async () => {
    const parameters = {
      to: 'ann',
      password: 'hunter-222',
      card: { number: 4111, ok: true },
      file: SHA256,
      apiKey: '',
    };
    const answer = await askFor(parameters, { secret: ['/card/*'] });
    expect(answer.status).toBe(202);
    const sealedParameters = {
      to: 'ann',
      password: sealed('/password', 'hunter-222'),
      card: { number: sealed('/card/number', 4111), ok: true },
      file: { $hmac: hmac(stage.people.bot.id, '/file/$sha256', 'c0ffee').toString('hex'), bytes: 3 },
      apiKey: '',
    };
    expect(answer.body.parameters).toEqual(sealedParameters);
    expect((await execution(stage.app, answer.body.id)).parameters).toEqual(sealedParameters);
  });

  it('are the same for the same request of the agent, by id or name, and make another action otherwise', async () => {
    const { app, people } = stage;
    const same = order();
    const parameters = { token: 'first-secret' };
    const byName = await askFor(parameters, same);
    const byId = await send(app, 'POST', `/api/v1/agents/${people.bot.id}/execute`, {
      body: { action: 'refund', resourceType: 'payment', ...same, parameters },
    });
    expect(byId.body).toMatchObject({ id: byName.body.id, actionHash: byName.body.actionHash });
    expect((await approve(app, byName.body.decisionId, people.ann)).status).toBe(200);
    expect((await askFor(parameters, same)).body).toMatchObject({ id: byName.body.id, outcome: 'approved' });
    expect((await askFor({ token: 'second-secret' }, same)).body.outcome).toBe('pending_approval');
    const resumed = await send(app, 'POST', `${EXECUTIONS}/${byName.body.id}/resume`, {
      body: { secret: ['/result/a'] },
    });
    expect(resumed.body).toMatchObject({
      outcome: 'authorized',
      parameters: { token: sealed('/token', 'first-secret') },
    });
  });

  it("do not tell a team's key whether another agent exists", async () => {
    const { app } = stage;
    const { secret: key } = await issueKey(app, { team: 'others', scopes: ['execute'] });
    const permit = { audience: 'bank' };
    const body = { action: 'send', resourceType: 'mail', resourceId: 'a', parameters: { token: 'x' }, permit };
    for (const agent of ['bot', 'nobody-of-this-name']) {
      const answer = await send(app, 'POST', `/api/v1/agents/${agent}/execute`, { key, body });
      expect([agent, answer.status]).toEqual([agent, 404]);
    }
  });

  it('of two agents differ', async () => {
    const { app, people } = stage;
    const other = await send(app, 'POST', '/api/v1/agents', { body: { name: 'other', capabilities: ['refund'] } });
    const [one, two] = [
      await ask(app, people.bot, { ...order(), parameters: { token: 'shared-secret' } }),
      await ask(app, other.body, { ...order(), parameters: { token: 'shared-secret' } }),
    ];
    expect(one.body.parameters).not.toEqual(two.body.parameters);
  });

  it('are covered by a grant', async () => {
    const { app, people } = stage;
    const same = order();
    const answer = await askFor({ token: 'granted-secret' }, same);
    const body = { approverId: people.ann.id, grant: { for: 'P1D', uses: 2 } };
    const approval = await send(app, 'POST', `${DECISIONS}/${answer.body.decisionId}/approve`, { body });
    expect(approval.body).toMatchObject({ status: 'approved' });
    await send(app, 'POST', `${EXECUTIONS}/${answer.body.id}/resume`);
    const question = { agent: 'bot', action: 'refund', resourceType: 'payment', ...same };
    const evaluate = (token: string): Promise<Answer> =>
      send(app, 'POST', '/api/v1/policies/evaluate', { body: { ...question, parameters: { token } } });
    expect((await evaluate('granted-secret')).body).toMatchObject({ effect: 'allow' });
    expect((await evaluate('another-secret')).body).toMatchObject({ effect: 'require_approval' });
    expect((await askFor({ token: 'granted-secret' }, same)).body).toMatchObject({ outcome: 'authorized' });
  });

  it('are replaced before a request with an Idempotency-Key is hashed, and the first answer is repeated', async () => {
    const same = free();
    const headers = { 'Idempotency-Key': 'secret-request' };
    const first = await askFor({ token: 'keyed-secret' }, same, headers);
    const second = await askFor({ token: 'keyed-secret' }, same, headers);
    expect([first.status, isReplayed(second), second.body.id]).toEqual([200, true, first.body.id]);
    expect((await askFor({ token: 'other-keyed' }, same, headers)).status).toBe(409);
  });

  it('reach a handler at execute, and are replaced in its result', async () => {
    const parameters = { token: 'secret-of-handler', file: SHA256 };
    const { body } = await askFor(parameters, { action: 'send', secret: ['/result/session'] });
    expect(handled.at(-1)?.parameters).toEqual(parameters);
    expect(body.parameters).toMatchObject({ token: sealed('/token', 'secret-of-handler') });
    expect(body.result).toEqual({
      token: sealed('/result/token', 'secret-of-handler'),
      session: sealed('/result/session', 'session-of-handler'),
    });
  });

  it('are lost for a handler once an approval is used: 409, and the execution stays approved', async () => {
    const { app, people } = stage;
    const approved = async (parameters: object): Promise<string> => {
      const answer = await askFor(parameters, { action: 'send', resourceId: `approved/${order().resourceId}` });
      await approve(app, answer.body.decisionId, people.ann);
      return answer.body.id;
    };
    for (const parameters of [{ token: 'lost' }, { file: SHA256 }]) {
      const id = await approved(parameters);
      const answer = await send(app, 'POST', `${EXECUTIONS}/${id}/resume`);
      expect([answer.status, answer.body.error.message]).toEqual([409, expect.stringContaining('reference')]);
      expect((await execution(app, id)).outcome).toBe('approved');
    }
    const id = await approved({ reference: 'vault/1' });
    const resumed = await send(app, 'POST', `${EXECUTIONS}/${id}/resume`, { body: { secret: ['/result/session'] } });
    expect(resumed.body).toMatchObject({ outcome: 'executed', result: { session: { $secret: expect.any(String) } } });
  });

  it('fail a handler that returns what only the service may write', async () => {
    const { body } = await askFor({ isWrong: true }, { action: 'send' });
    expect(body).toMatchObject({
      outcome: 'failed',
      failureReason: expect.stringContaining('result.a.$hmac must be left out'),
    });
  });

  it('get no permit', async () => {
    const { app, people } = stage;
    const permit = { permit: { audience: 'bank' } };
    const refused = await askFor({ token: 'x-secret' }, { ...free(), ...permit });
    expect([refused.status, faults(refused)]).toEqual([400, { permit: expect.stringContaining('must be left out') }]);
    expect((await askFor({ token: '' }, { ...free(), ...permit })).body.permit).toEqual(expect.any(String));
    const answer = await askFor({ token: 'y-secret' });
    await approve(app, answer.body.decisionId, people.ann);
    const resumed = await send(app, 'POST', `${EXECUTIONS}/${answer.body.id}/resume`, { body: permit });
    expect([resumed.status, faults(resumed)]).toEqual([400, { permit: expect.stringContaining('must be left out') }]);
  });

  it('are replaced in reported results', async () => {
    const { app } = stage;
    const { body } = await askFor({}, free());
    const report = (result: unknown): Promise<Answer> =>
      send(app, 'POST', `${EXECUTIONS}/${body.id}/result`, {
        body: { outcome: 'executed', result },
        headers: { 'Idempotency-Key': 'report-once' },
      });
    const reserved = await report({ list: [{ $secret: 'x' }] });
    expect(faults(reserved)).toEqual({ 'result.list[0].$secret': expect.stringContaining('must be left out') });
    const reported = await report({ list: [{ Set_Cookie: 'session=1' }], file: SHA256 });
    expect(reported.body.result).toEqual({
      list: [{ Set_Cookie: sealed('/result/list/0/Set_Cookie', 'session=1') }],
      file: { $hmac: hmac(stage.people.bot.id, '/result/file/$sha256', 'c0ffee').toString('hex'), bytes: 3 },
    });
    expect(isReplayed(await report({ list: [{ Set_Cookie: 'session=1' }], file: SHA256 }))).toBe(true);
  });

  it('of an agent that does not exist are not kept: 404', async () => {
    const answer = await ask(stage.app, { name: 'nobody' }, { parameters: { token: 'of-nobody' } });
    expect(answer.status).toBe(404);
  });
});

describe('Parameters that a reviewer names instead', () => {
  const stage = stageOf(async (): Promise<{ app: TestApp; people: Company }> => {
    // With a module of its own, its database is a new one, for which any key will do.
    const environment = { SECRET_KEY: KEY.toString('base64') };
    const app = await createTestApp({ environment, modules: [HandlersModule] });
    const people = await company(app);
    await requireApproval(app);
    return { app, people };
  });
  const sealed = (pointer: string, value: JsonValue): Parsed => {
    return { $secret: hmac(stage.people.bot.id, pointer, value).toString('base64url') };
  };
  const sent = { amount: 80, token: 'named-secret', pin: 'pin-1234', file: SHA256 };
  const rejectFor = async (resource: object, parametersOf: (storedParameters: Parsed) => unknown): Promise<Answer> => {
    const { app, people } = stage;
    const answer = await ask(app, people.bot, { ...resource, parameters: sent, secret: ['/pin'] });
    const body = { approverId: people.ann.id, instead: { parameters: parametersOf(answer.body.parameters) } };
    const headers = { 'Idempotency-Key': `reject-${JSON.stringify(resource)}` };
    return send(app, 'POST', `${DECISIONS}/${answer.body.decisionId}/reject`, { body, headers });
  };

  it('repeat what stands for a secret, and a grant then serves the request with the secret', async () => {
    const { app, people } = stage;
    const same = order();
    const answer = await rejectFor(same, (members) => ({ ...members, amount: 50 }));
    expect(answer.body).toMatchObject({ status: 'rejected' });
    const again = await ask(app, people.bot, { ...same, parameters: { ...sent, amount: 50 }, secret: ['/pin'] });
    expect(again.body).toMatchObject({ outcome: 'authorized', grantId: expect.any(String) });
  });

  it('may have another secret, which is replaced for the agent of the execution', async () => {
    const { app, people } = stage;
    const same = order();
    const answer = await rejectFor(same, (members) => ({ ...members, token: 'new-secret', pin: 'pin-5678' }));
    const [rejected] = (await send(app, 'GET', `${EXECUTIONS}?decisionId=${answer.body.id}`)).body.data;
    expect(rejected.instead.parameters).toMatchObject({
      token: sealed('/token', 'new-secret'),
      pin: sealed('/pin', 'pin-5678'),
    });
    const parameters = { ...sent, token: 'new-secret', pin: 'pin-5678' };
    const again = await ask(app, people.bot, { ...same, parameters, secret: ['/pin'] });
    expect(again.body).toMatchObject({ outcome: 'authorized' });
  });

  it('have no replacement that the execution does not have there: 400', async () => {
    const answer = await rejectFor(order(), ({ token, file, ...rest }) => ({ ...rest, other: token, list: [file] }));
    expect([answer.status, Object.keys(faults(answer)).sort()]).toEqual([
      400,
      ['instead.parameters.list[0].$hmac', 'instead.parameters.other.$secret'],
    ]);
  });

  it('have to differ from the requested ones, secrets included', async () => {
    const answer = await rejectFor(order(), (members) => ({
      ...members,
      token: 'named-secret',
      pin: 'pin-1234',
      file: SHA256,
    }));
    expect(faults(answer)).toEqual({ 'instead.parameters': expect.stringContaining('must differ') });
  });
});

const PLANNED = {
  name: 'planned',
  version: '1',
  effect: 'allow',
  subjects: ['*'],
  actions: ['*'],
  resources: ['*'],
  resourceTypes: [],
};

describe('A policy that looks at a secret', () => {
  it('knows nothing of it: a deny matches, an allow does not, also within it', async () => {
    const app = await createTestApp();
    const { bot } = await company(app);
    const decide = async (effect: string, condition: object): Promise<number> => {
      const { id } = await createPolicy(app, { effect, priority: 5, conditions: [condition] });
      const answer = await ask(app, bot, {
        parameters: { token: 'x', file: SHA256, card: { pin: 1 } },
        secret: ['/card'],
      });
      await send(app, 'POST', `/api/v1/policies/${id}/deactivate`);
      return answer.status;
    };
    const unknown = [
      { parameter: '/token', op: 'eq', value: 'x' },
      { parameter: '/token/$secret', op: 'ne', value: 'x' },
      { parameter: '/card/pin', op: 'exists', value: true },
      { parameter: '/card/pin', op: 'exists', value: false },
      { parameter: '/file/$hmac', op: 'prefix', value: '' },
      { parameter: '/file/admin', op: 'exists', value: true },
      { parameter: '/file/admin', op: 'exists', value: false },
      { parameter: '/file/admin', op: 'eq', value: 'x' },
      { parameter: '/file/bytes/admin', op: 'exists', value: false },
    ];
    const knownConditions = [
      { parameter: '/token', op: 'exists', value: true },
      { parameter: '/file', op: 'exists', value: true },
      { parameter: '/file/bytes', op: 'lt', value: 4 },
    ];
    for (const condition of unknown)
      expect([condition, await decide('allow', condition), await decide('deny', condition)]).toEqual([
        condition,
        403,
        403,
      ]);
    for (const condition of knownConditions)
      expect([condition, await decide('allow', condition), await decide('deny', condition)]).toEqual([
        condition,
        200,
        403,
      ]);
    await app.close();
  });

  it('is created with a warning, unless it only asks whether the secret is there', async () => {
    const app = await createTestApp({ environment: { SECRET_PARAMETERS: '/**/pin,/card/*/code' } });
    const warningsFor = async (body: object): Promise<string[]> =>
      (await createPolicy(app, body as Record<string, unknown>)).warnings.filter((text) =>
        text.includes('secret_parameter'),
      );
    const condition = (parameter: string, op = 'eq', value: unknown = 1): object => ({ parameter, op, value });
    const conditions = [
      condition('/PIN'),
      condition('/card/a/code/first'),
      condition('/x', 'eq', { parameter: '/a/pin' }),
      condition('/pin', 'exists', true),
      condition('/token'),
      condition('/pin/digits', 'exists', true),
      { claim: 'pin', op: 'supports', parameter: '/pin', value: 0.5 },
    ];
    const limits = [{ max: 5, per: 'day', by: 'agent', of: '/b/pin' }];
    expect(await warningsFor({ conditions, limits })).toEqual([
      expect.stringMatching(/^conditions\[0\] looks at \/PIN /),
      expect.stringMatching(/^conditions\[1\] looks at \/card\/a\/code\/first /),
      expect.stringMatching(/^conditions\[2\] looks at \/a\/pin /),
      expect.stringMatching(/^conditions\[5\] looks at \/pin /),
      expect.stringMatching(/^conditions\[6\] looks at \/pin /),
      expect.stringMatching(/^limits\[0\] looks at \/b\/pin /),
    ]);
    const policies = [{ ...PLANNED, conditions: [condition('/PIN')] }];
    const { body: plan } = await send(app, 'POST', '/api/v1/policies/plan', { body: { policies } });
    expect(plan.warnings).toEqual([expect.stringMatching(/^planned \(version 1\): .*\(secret_parameter\)/)]);
    await app.close();
  });
});

describe('SECRET_PARAMETERS', () => {
  it('none replaces nothing but what the request names', async () => {
    const app = await createTestApp({ environment: { SECRET_PARAMETERS: 'none' } });
    const { bot } = await company(app);
    await createPolicy(app);
    const parameters = { token: 'kept', pin: 'not kept' };
    const { body } = await ask(app, bot, { parameters, secret: ['/pin'] });
    expect(body.parameters).toEqual({ token: 'kept', pin: { $secret: expect.any(String) } });
    await app.close();
  });
});
