import { Body, Controller, Injectable, Module, Param, Post } from '@nestjs/common';
import { type ActionContext, ActionHandler } from '../../src/executions/handlers/action-handler.decorator';
import { Caller } from '../../src/http/pipeline/caller.decorator';
import { OptionalText } from '../../src/http/validation/text-fields';
import { LedgerService } from '../../src/ledger/ledger.service';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import {
  chainIsValid,
  createAgent,
  createEntity,
  createPolicy,
  issueKey,
  propose,
} from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { addNote, NotesModule } from '../support/application/notes.module';
import { isReplayed, send, type Answer, type Parsed } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const DAY = 24 * 60 * 60 * 1000;
const PREVIOUS_KEY = 'a-previous-key-for-tests-that-is-long';
const DOCUMENT = { resourceType: 'document', resourceId: 'docs/a' };

/** Handlers of actions that a test lets end. */
const contexts: ActionContext[] = [];
let release: () => void = () => undefined;
const released = (): Promise<void> => new Promise((resolve) => (release = resolve));

@Injectable()
class Actions {
  constructor(private readonly ledger: LedgerService) {}

  @ActionHandler('wait')
  async wait(context: ActionContext): Promise<object> {
    contexts.push(context);
    await released();
    return { waited: true };
  }

  @ActionHandler('note')
  async note({ caller, executionId }: ActionContext): Promise<object> {
    const note = await this.ledger.write(caller, async (transaction) => addNote(transaction, executionId));
    return { note: note.id };
  }

  @ActionHandler('fail')
  fail(): never {
    throw new Error('No.');
  }
}

class TextRequest {
  @OptionalText({ max: 100 })
  readonly text?: string;
}

/** A module of others, whose requests write more than once or not at all. */
@Controller('steps')
class StepsController {
  failing = false;

  constructor(private readonly ledger: LedgerService) {}

  @Post(':slug')
  async twice(@Caller() caller: Caller, @Param('slug') slug: string, @Body() { text = '' }: TextRequest) {
    const first = await this.ledger.write(caller, async (transaction) => addNote(transaction, `${slug} 1`, { text }));
    if (this.failing) throw new Error('Between the two.');
    const second = await this.ledger.write(caller, async (transaction) => addNote(transaction, `${slug} 2`));
    return { id: first.id, second: second.id };
  }
}

@Module({ imports: [NotesModule], controllers: [StepsController], providers: [Actions] })
class StepsModule {}

const WITHOUT_KEY: ReadonlySet<string> = new Set([
  'apiKeys_issue',
  'webhooks_create',
  'webhooks_rotateSecret',
  'evaluate_evaluate',
  'plan_plan',
]);

describe('A POST with an Idempotency-Key', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let keys = 0;

  beforeAll(async () => {
    database = await temporaryDatabase();
    app = await start();
    await createPolicy(app, { actions: ['look', 'wait', 'note', 'fail'] });
    await createPolicy(app, {
      effect: 'deny',
      priority: 1,
      actions: ['forbidden', 'decision:reject'],
      subjects: ['agent:bot'],
    });
    await createAgent(app, {
      name: 'bot',
      capabilities: ['look', 'wait', 'note', 'fail', 'forbidden', 'unmatched', 'ask'],
    });
    await createPolicy(app, {
      effect: 'require_approval',
      actions: ['ask'],
      approval: { approvers: [{ subjects: ['kind:machine'] }] },
    });
  });
  afterEach(() => chainIsValid(app));
  afterAll(async () => {
    await app.close();
    await database.remove();
  });

  function start(): Promise<TestApp> {
    const environment = { ...database.environment, API_KEY_PREVIOUS: PREVIOUS_KEY };
    return createTestApp({ environment, modules: [StepsModule] });
  }

  function newKey(): string {
    keys += 1;
    return `key-${keys}`;
  }

  function post(path: string, body: unknown, key?: string): Promise<Answer> {
    return send(app, 'POST', `/api/v1/${path}`, { body, headers: key === undefined ? {} : { 'Idempotency-Key': key } });
  }

  async function get(path: string): Promise<Parsed> {
    return (await send(app, 'GET', `/api/v1/${path}`)).body;
  }

  async function entries(): Promise<number> {
    return (await get('stats')).provenanceEntries;
  }

  async function newAgent(): Promise<string> {
    return (await createAgent(app, { name: `agent of ${newKey()}` })).id;
  }

  /** All that is to come out the same. */
  function answered({ status, headers, text }: Answer): object {
    const kept = ['location', 'etag', 'content-type'].map((name) => headers.get(name));
    return { status, text, kept };
  }

  async function expectOneEffect(path: string, body: unknown, status: number): Promise<Answer> {
    const key = newKey();
    const first = await post(path, body, key);
    expect(first.status).toBe(status);
    expect(isReplayed(first)).toBe(false);
    const before = await entries();
    const second = await post(path, body, key);
    expect(answered(second)).toEqual(answered(first));
    expect(isReplayed(second)).toBe(true);
    expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(await entries()).toBe(before);
    return second;
  }

  describe('is answered again, with its status, body and headers, and takes effect once:', () => {
    const MAKERS: readonly [name: string, status: number, request: () => Promise<[path: string, body?: object]>][] = [
      [
        'an entity',
        201,
        async () => ['entities', { type: 'host', name: 'web', properties: { a: [1, 0.1, { b: null }] } }],
      ],
      [
        'a claim',
        201,
        async () => [`entities/${(await createEntity(app)).id}/claims`, { predicate: 'a', value: false }],
      ],
      ['an agent', 201, async () => ['agents', { name: `agent ${newKey()}`, roles: ['a'] }]],
      ['a suspension', 200, async () => [`agents/${await newAgent()}/suspend`, { reason: 'x' }]],
      ['a suspension without a body', 200, async () => [`agents/${await newAgent()}/suspend`]],
      ['a resumption', 200, async () => [`agents/${await newAgent()}/resume`, {}]],
      ['a policy', 201, async () => ['policies', { ...RULES, name: newKey(), version: '1' }]],
      ['a deactivation', 200, async () => [`policies/${(await createPolicy(app, RULES)).id}/deactivate`]],
      ['an activation', 200, async () => [`policies/${(await createPolicy(app, RULES)).id}/activate`]],
      [
        'a set of policies',
        200,
        async () => {
          const policies = [{ ...RULES, name: newKey(), version: '1' }];
          return ['policies/apply', { base: (await post('policies/plan', { policies })).body.base, policies }];
        },
      ],
      [
        'a proposal',
        201,
        async () => ['decisions', { type: 'a', title: 'b', proposedBy: await newAgent(), riskLevel: 'low' }],
      ],
      ['an approval', 200, async () => [`decisions/${await proposal()}/approve`, { approverId: await newAgent() }]],
      ['a rejection', 200, async () => [`decisions/${await proposal()}/reject`, { reason: 'x' }]],
      ['a cancelled decision', 200, async () => [`decisions/${await proposal()}/cancel`, { reason: 'x' }]],
      ['a request for approval', 202, async () => ['agents/bot/execute', asking()]],
      ['a cancelled request', 200, async () => [`executions/${(await asked()).id}/cancel`, { reason: 'x' }]],
      ['a resume', 200, async () => [`executions/${await approvedExecution()}/resume`]],
      [
        'a result',
        200,
        async () => {
          const { id } = (await post('agents/bot/execute', { action: 'look', ...DOCUMENT })).body;
          return [`executions/${id}/result`, { outcome: 'executed', result: 1 }];
        },
      ],
      ['a revocation', 200, async () => [`api-keys/${(await issueKey(app)).id}/revoke`, { reason: 'x' }]],
      ['a test of a webhook', 200, async () => [`webhooks/${await webhook()}/test`]],
      ['a replay of a webhook', 200, async () => [`webhooks/${await webhook()}/replay`, { after: 0 }]],
      ['a resumed webhook', 200, async () => [`webhooks/${await webhook()}/resume`]],
      ['an authorised execution', 200, async () => ['agents/bot/execute', { action: 'look', ...DOCUMENT }]],
      ['an execution that ran', 200, async () => ['agents/bot/execute', { action: 'note', ...DOCUMENT }]],
      ['an execution that failed', 200, async () => ['agents/bot/execute', { action: 'fail', ...DOCUMENT }]],
      ['a verification', 200, async () => ['provenance/verify']],
      ['a verification of a part', 200, async () => ['provenance/verify', { from: 1 }]],
      ['a request of a module that writes twice', 201, async () => [`steps/${newKey()}`, { text: 'x' }]],
    ];
    const RULES = { effect: 'deny', subjects: ['agent:nobody'], actions: ['nothing'], resources: ['*'] };

    async function webhook(): Promise<string> {
      return (await post('webhooks', { url: 'https://nowhere.invalid/', actions: ['none'] })).body.id;
    }

    async function proposal(): Promise<string> {
      return (await propose(app, await newAgent())).id;
    }

    function asking(): object {
      return { action: 'ask', resourceType: 'word', resourceId: newKey() };
    }

    async function asked(): Promise<Parsed> {
      return (await post('agents/bot/execute', asking())).body;
    }

    async function approvedExecution(): Promise<string> {
      const { id, decisionId } = await asked();
      await post(`decisions/${decisionId}/approve`, { approverId: await newAgent() });
      return id;
    }

    it.each(MAKERS)('%s', async (_name, status, request) => {
      const [path, body] = await request();
      await expectOneEffect(path, body, status);
    });

    it('every POST that the document has', async () => {
      const document = (await send(app, 'GET', '/docs/openapi.json')).body;
      const operations = Object.values<Parsed>(document.paths).flatMap(({ post: operation }) => operation ?? []);
      // What answers a secret takes none, and what only answers gives it no meaning.
      const without = operations.filter(({ operationId }) => WITHOUT_KEY.has(operationId));
      expect(JSON.stringify(without.map(({ parameters }) => parameters))).not.toContain('Idempotency-Key');
      const repeatable = operations.filter((operation) => !without.includes(operation));
      for (const { parameters, requestBody, responses } of repeatable) {
        expect(parameters).toContainEqual(expect.objectContaining({ name: 'Idempotency-Key', in: 'header' }));
        if (requestBody !== undefined) expect(Object.keys(responses)).toContain('409');
        const success = responses['200'] ?? responses['201'];
        expect(Object.keys(success.headers)).toContain('Idempotent-Replayed');
      }
    });
  });

  it.each([
    ['for want of a capability', 'agents/bot/execute', { action: 'unknown', ...DOCUMENT }],
    ['for want of a policy', 'agents/bot/execute', { action: 'unmatched', ...DOCUMENT }],
    ['by a policy', 'agents/bot/execute', { action: 'forbidden', ...DOCUMENT }],
  ])('that was refused %s is refused again in the same words, and recorded once', async (_name, path, body) => {
    const again = await expectOneEffect(path, body, 403);
    const { requestId } = again.body.error;
    expect(again.headers.get('x-request-id')).not.toBe(requestId);
    const audited = (await get('audit?action=execution.denied&limit=1')).data;
    expect(audited).toMatchObject([{ requestId }]);
  });

  describe('that was only authorised', () => {
    const DENIED = { status: 403, body: { error: { reason: 'policy_denied' } } };
    const SUSPENDED = { status: 403, body: { error: { reason: 'agent_suspended' } } };

    it('is authorised again only while a new request would be; each refusal is recorded, the key keeps its answer', async () => {
      const name = newKey();
      const { id } = await createAgent(app, { name, capabilities: ['look', 'unmatched'] });
      const path = `agents/${name}/execute`;
      const body = { action: 'look', ...DOCUMENT };
      const key = newKey();
      const first = await post(path, body, key);
      expect(first).toMatchObject({ status: 200, body: { outcome: 'authorized' } });

      await post(`agents/${id}/suspend`, {});
      const before = await entries();
      const refused = await post(path, body, key);
      expect(refused).toMatchObject(SUSPENDED);
      expect(isReplayed(refused)).toBe(false);
      expect(refused.body.error.requestId).toBe(refused.headers.get('x-request-id'));
      expect(await entries()).toBe(before + 1);
      const [recorded] = (await get(`executions?agentId=${id}&order=desc&limit=1`)).data;
      expect(recorded).toMatchObject({ outcome: 'denied', agentId: id, ...DOCUMENT });
      expect(recorded.id).not.toBe(first.body.id);
      const [entry] = (await get(`audit?subjectId=${recorded.id}`)).data;
      const { requestId } = refused.body.error;
      expect(entry).toMatchObject({ action: 'execution.denied', reason: 'agent_suspended', requestId });
      // Refused once more, and recorded once more: the refusal is not what the key keeps.
      expect(await post(path, body, key)).toMatchObject(SUSPENDED);
      expect(await entries()).toBe(before + 2);
      const other = await post(path, { ...body, parameters: { a: 1 } }, key);
      expect(other).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });

      await post(`agents/${id}/resume`, {});
      const again = await post(path, body, key);
      expect(answered(again)).toEqual(answered(first));
      expect(isReplayed(again)).toBe(true);

      await send(app, 'PATCH', `/api/v1/agents/${id}`, { body: { capabilities: ['unmatched'] } });
      expect(await post(path, body, key)).toMatchObject({
        status: 403,
        body: { error: { reason: 'capability_missing' } },
      });
      await send(app, 'PATCH', `/api/v1/agents/${id}`, { body: { capabilities: ['look'] } });
      const deny = await createPolicy(app, { effect: 'deny', priority: 9, subjects: [`agent:${name}`] });
      expect(await post(path, body, key)).toMatchObject(DENIED);
      await app.close();
      app = await start();
      expect(await post(path, body, key)).toMatchObject(DENIED);
      await post(`policies/${deny.id}/deactivate`, {});
      expect(answered(await post(path, body, key))).toEqual(answered(first));
    });

    it('is refused to all who ask after the change, and to none before it, whatever shares their batch', async () => {
      const name = newKey();
      await createAgent(app, { name, capabilities: ['look'] });
      const ask = (): Promise<Answer> => post(`agents/${name}/execute`, { action: 'look', ...DOCUMENT }, name);
      const first = await ask();
      const answers = await Promise.all([
        ask(),
        post(`agents/${name}/suspend`, {}),
        ...Array.from({ length: 20 }, ask),
      ]);
      const suspendedAt = (await get(`audit?action=agent.suspended&limit=1`)).data[0].sequence;
      const refused = (await get(`audit?action=execution.denied&limit=50`)).data.filter(
        ({ sequence }: Parsed) => sequence > suspendedAt,
      );
      expect(answers.filter(({ status }) => status === 403)).toHaveLength(refused.length);
      for (const answer of answers.filter(({ status, body }) => status === 200 && body.outcome === 'authorized'))
        expect(answered(answer)).toEqual(answered(first));
      expect(await ask()).toMatchObject(SUSPENDED);
    });

    it('is another thing than one that ran: that is answered as the first time, whatever the policies say now', async () => {
      const name = newKey();
      const { id } = await createAgent(app, { name, capabilities: ['note'] });
      const ask = (): Promise<Answer> => post(`agents/${name}/execute`, { action: 'note', ...DOCUMENT }, name);
      const first = await ask();
      expect(first).toMatchObject({ status: 200, body: { outcome: 'executed' } });
      await post(`agents/${id}/suspend`, {});
      const before = await entries();
      expect(answered(await ask())).toEqual(answered(first));
      expect(await entries()).toBe(before);
    });
  });

  it('that reviews or proposes against a rule is refused again in the same words, and recorded once', async () => {
    const { id: proposer } = await createAgent(app, { name: newKey() });
    const { id } = await propose(app, proposer);
    await expectOneEffect(`decisions/${id}/approve`, { approverId: proposer }, 403);
    const { id: bot } = await get('agents/bot');
    await expectOneEffect(`decisions/${id}/reject`, { approverId: bot }, 403);
    await post(`agents/${proposer}/suspend`, {});
    const decision = { type: 'a', title: 'b', proposedBy: proposer, riskLevel: 'low' };
    await expectOneEffect('decisions', decision, 403);
  });

  it('is answered again although the record is gone or has changed since', async () => {
    const { id } = await createEntity(app);
    const claim = { predicate: 'a', value: 1 };
    const first = await post(`entities/${id}/claims`, claim, 'gone');
    await send(app, 'DELETE', `/api/v1/entities/${id}`);
    expect(answered(await post(`entities/${id}/claims`, claim, 'gone'))).toEqual(answered(first));
    expect((await post(`entities/${id}/claims`, claim, newKey())).status).toBe(404);

    const { id: agent } = await createAgent(app, { name: newKey() });
    const suspended = await post(`agents/${agent}/suspend`, {}, 'on-leave');
    await post(`agents/${agent}/resume`, {});
    expect(answered(await post(`agents/${agent}/suspend`, {}, 'on-leave'))).toEqual(answered(suspended));
    expect(await get(`agents/${agent}`)).toMatchObject({ status: 'active', revision: 3 });
  });

  it('with another body is a conflict, whatever became of the record, and changes nothing', async () => {
    const key = newKey();
    const first = await post('agents', { name: key }, key);
    const before = await entries();
    for (const body of [{ name: `${key}!` }, { name: key, description: '' }, { name: key, roles: [] }]) {
      const answer = await post('agents', body, key);
      expect(answer).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
      expect(isReplayed(answer)).toBe(false);
    }
    expect(await entries()).toBe(before);
    expect(answered(await post('agents', { name: key }, key))).toEqual(answered(first));
  });

  it('with another body is invalid first, and a conflict before the record is looked for', async () => {
    const { id } = await createEntity(app);
    const path = `entities/${id}/claims`;
    await post(path, { predicate: 'a', value: 1 }, 'first-things');
    await send(app, 'DELETE', `/api/v1/entities/${id}`);
    expect((await post(path, { predicate: 'a' }, 'first-things')).status).toBe(400);
    expect((await post(path, { predicate: 'a', value: 2 }, 'first-things')).status).toBe(409);
  });

  it('has the same body however that is written', async () => {
    const first = await post('entities', '{"type":"a","name":"Zoë","properties":{"x":1,"y":[1.0,2]}}', 'spelling');
    const again = await post(
      'entities',
      ' {"properties": {"y": [1, 2e0], "x": 1}, "name": "Zo\\u00eb", "type": "a"}\n',
      'spelling',
    );
    expect(answered(again)).toEqual(answered(first));
    const { id } = await createAgent(app, { name: newKey() });
    await post(`agents/${id}/suspend`, undefined, 'empty');
    expect(isReplayed(await post(`agents/${id}/suspend`, {}, 'empty'))).toBe(true);
  });

  it('is another one at another path, and the same at the same path however that is written', async () => {
    const { id } = await createAgent(app, { name: 'Zoë & co' });
    const first = await post(`agents/${encodeURIComponent('Zoë & co')}/suspend`, {}, 'paths');
    expect(isReplayed(await post('agents/Zo%C3%AB%20%26%20co/suspend', {}, 'paths'))).toBe(true);
    expect(isReplayed(await post('agents/Zo%c3%ab%20&%20co/suspend/', {}, 'paths'))).toBe(true);
    expect(isReplayed(await post(`agents/${id}/suspend`, {}, 'paths'))).toBe(false);
    expect(isReplayed(await post(`agents/${id}/resume`, {}, 'paths'))).toBe(false);
    expect(isReplayed(await post('entities', { type: 'a', name: 'b' }, 'paths'))).toBe(false);
    expect(first.body.revision).toBe(2);
  });

  it('is the same under the previous API key: both are keys of one caller', async () => {
    const body = { type: 'rotated', name: 'x' };
    const key = newKey();
    const first = await post('entities', body, key);
    const path = '/api/v1/entities';
    const again = await send(app, 'POST', path, { body, key: PREVIOUS_KEY, headers: { 'Idempotency-Key': key } });
    expect(answered(again)).toEqual(answered(first));
    expect(isReplayed(again)).toBe(true);
    const other = { ...body, name: 'y' };
    const conflict = await send(app, 'POST', path, {
      body: other,
      key: PREVIOUS_KEY,
      headers: { 'Idempotency-Key': key },
    });
    expect(conflict).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
    const stranger = await send(app, 'POST', path, { body, key: 'unknown', headers: { 'Idempotency-Key': key } });
    expect(stranger.status).toBe(401);
    expect(isReplayed(stranger)).toBe(false);
  });

  it('that failed otherwise may be sent again: what failed is not kept', async () => {
    const key = newKey();
    const body = { action: 'look', ...DOCUMENT };
    expect((await post('agents/later-bot/execute', body, key)).status).toBe(404);
    await createAgent(app, { name: 'later-bot', capabilities: ['look'] });
    const executed = await post('agents/later-bot/execute', body, key);
    expect(executed.status).toBe(200);
    expect(isReplayed(executed)).toBe(false);

    const decision = { type: 'a', title: 'b', proposedBy: 'agt_none', riskLevel: 'low' };
    expect((await post('decisions', decision, key)).status).toBe(400);
    const repaired = { ...decision, proposedBy: await newAgent() };
    expect((await post('decisions', repaired, key)).status).toBe(201);

    expect((await post('agents', { name: 'bot' }, key)).status).toBe(409);
    expect((await post('agents', { name: `not ${key}` }, key)).status).toBe(201);
  });

  it('takes effect once, with one answer to all, when many are sent at once', async () => {
    const key = newKey();
    const before = await entries();
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => post('entities', { type: 'race', name: key }, key)),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answered(answer)))).size).toBe(1);
    expect(answers.filter((answer) => !isReplayed(answer))).toHaveLength(1);
    expect((await get('entities?type=race')).total).toBe(1);
    expect(await entries()).toBe(before + 1);
  });

  it('of which two with other bodies race, takes effect once; the other is a conflict', async () => {
    const key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, number) => post('entities', { type: key, name: `name ${number}` }, key)),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(9);
    expect((await get(`entities?type=${key}`)).total).toBe(1);
  });

  it('whose kept answer somebody damaged fails alone: what is written with it takes effect once', async () => {
    const key = newKey();
    const body = { type: 'damaged', name: 'x' };
    await post('entities', body, key);
    const foreign = await foreignConnection(app);
    await foreign.run(`UPDATE "idempotency_keys" SET "answer" = '{' WHERE "answer" LIKE $1`, ['%"type":"damaged"%']);
    await foreign.close();
    const before = Number((await get('stats')).entities);
    const writes = Array.from({ length: 60 }, (_unused, index) =>
      index % 6 === 3 ? post('entities', body, key) : post('entities', { type: 'next', name: 'x' }),
    );
    const statuses = (await Promise.all(writes)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 500)).toHaveLength(10);
    expect(statuses.filter((status) => status === 201)).toHaveLength(50);
    expect((await get('stats')).entities).toBe(before + 50);
  });

  it('that names a time ahead is answered again when that time has passed', async () => {
    const proposedBy = await newAgent();
    const expiresAt = new Date(Date.now() + 2_000).toISOString();
    const body = { type: 'a', title: 'b', proposedBy, riskLevel: 'low', expiresAt };
    const key = newKey();
    const first = await post('decisions', body, key);
    expect(first.status).toBe(201);
    while (Date.now() <= Date.parse(expiresAt)) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(answered(await post('decisions', body, key))).toEqual(answered(first));
    expect(await post('decisions', body, newKey())).toMatchObject({ status: 400 });
  });

  it('waits while the action of the first runs; the handler runs once, without the key', async () => {
    const key = newKey();
    const body = { action: 'wait', ...DOCUMENT };
    const ran = contexts.length;
    const first = post('agents/bot/execute', body, key);
    while (contexts.length === ran) await get('health');
    let hasAnswered = false;
    const others = [1, 2, 3].map(() => post('agents/bot/execute', body, key).finally(() => (hasAnswered = true)));
    const running = (await get('executions?outcome=running')).data;
    expect(running).toHaveLength(1);
    for (let looks = 0; looks < 20; looks += 1) await get(`executions/${running[0].id}`);
    expect(hasAnswered).toBe(false);
    release();
    const answer = await first;
    expect(answer.body).toMatchObject({ id: running[0].id, outcome: 'executed', result: { waited: true } });
    for (const other of await Promise.all(others)) {
      expect(answered(other)).toEqual(answered(answer));
      expect(isReplayed(other)).toBe(true);
    }
    expect(contexts).toHaveLength(ran + 1);
    expect(contexts.at(-1)?.caller).toEqual({ ...contexts.at(-1)?.caller, idempotency: undefined });
  });

  it('that failed between two writes is finished when it is sent again: each is written once', async () => {
    const controller = app.application.get(StepsController, { strict: false });
    const [key, slug] = [newKey(), newKey()];
    controller.failing = true;
    expect((await post(`steps/${slug}`, { text: 'x' }, key)).status).toBe(500);
    const before = await entries();
    controller.failing = false;
    const finished = await post(`steps/${slug}`, { text: 'x' }, key);
    expect(finished.status).toBe(201);
    expect(await entries()).toBe(before + 1);
    expect((await post(`steps/${slug}`, { text: 'x' }, key)).text).toBe(finished.text);
    expect(await entries()).toBe(before + 1);
    const notes = (await get('provenance?action=note.added&order=desc&limit=2')).data;
    expect(notes.map(({ subjectId }: Parsed) => subjectId)).toEqual([finished.body.second, finished.body.id]);
  });

  it('is answered again after a restart', async () => {
    const body = { type: 'restart', name: 'x' };
    const first = await post('entities', body, 'restart');
    const refused = await post('agents/bot/execute', { action: 'unknown', ...DOCUMENT }, 'restart');
    await app.close();
    app = await start();
    expect(answered(await post('entities', body, 'restart'))).toEqual(answered(first));
    expect(answered(await post('agents/bot/execute', { action: 'unknown', ...DOCUMENT }, 'restart'))).toEqual(
      answered(refused),
    );
  });

  describe('as time goes by', () => {
    afterEach(restoreTime);

    async function keptKeys(): Promise<number> {
      const foreign = await foreignConnection(app);
      try {
        const [row] = await foreign.all<{ count: number | string }>(
          'SELECT count(*) AS "count" FROM "idempotency_keys"',
        );
        return Number(row?.count);
      } finally {
        await foreign.close();
      }
    }

    it('is known for 24 hours, then free again; what was kept is removed as others write', async () => {
      const body = { type: 'day', name: 'x' };
      const first = await post('entities', body, 'day');
      const verified = await post('provenance/verify', {}, 'day');
      await moveTime(DAY - 60_000);
      expect(answered(await post('entities', body, 'day'))).toEqual(answered(first));
      expect(answered(await post('provenance/verify', {}, 'day'))).toEqual(answered(verified));
      await restoreTime();
      expect(await keptKeys()).toBeGreaterThan(40);
      await moveTime(DAY + 60_000);
      const anew = await post('entities', { ...body, name: 'y' }, 'day');
      expect(anew.status).toBe(201);
      expect(isReplayed(anew)).toBe(false);
      expect(await keptKeys()).toBe(1);
      expect(isReplayed(await post('provenance/verify', {}, 'day'))).toBe(false);
      expect(isReplayed(await post('entities', { ...body, name: 'y' }, 'day'))).toBe(true);
    });

    it('is known for 24 hours of the ledger, whose clock stands while the machine goes back', async () => {
      const body = { type: 'back', name: 'x' };
      const before = await post('entities', body, 'back');
      await moveTime(-10 * DAY);
      expect(answered(await post('entities', body, 'back'))).toEqual(answered(before));
      expect(isReplayed(await post('entities', { ...body, name: 'y' }, 'behind'))).toBe(false);
      await restoreTime();
      await moveTime(3 * DAY);
      const ahead = await post('entities', body, 'back');
      expect(isReplayed(ahead)).toBe(false);
      expect(ahead.body.id).not.toBe(before.body.id);
      // The ledger has seen that day, and stays there.
      await restoreTime();
      expect(answered(await post('entities', body, 'back'))).toEqual(answered(ahead));
      expect(isReplayed(await post('entities', { ...body, name: 'y' }, 'behind'))).toBe(false);
    });

    it('is not forgotten for a clock that ran ahead while nothing was recorded', async () => {
      const [key, body] = [newKey(), { type: 'ahead', name: newKey() }];
      await moveTime(5 * DAY);
      const first = await post('entities', body, key);
      await restoreTime();
      await moveTime(7 * DAY);
      expect(isReplayed(await post('provenance/verify', {}, newKey()))).toBe(false);
      await restoreTime();
      const again = await post('entities', body, key);
      expect([again.status, again.text]).toEqual([first.status, first.text]);
      expect(isReplayed(again)).toBe(true);
    });

    it('is removed by writes without a key, too', async () => {
      await post('entities', { type: 'a', name: 'b' }, newKey());
      await moveTime(9 * DAY);
      while ((await keptKeys()) > 0) await createEntity(app);
    });
  });
});
