import {
  chainIsValid,
  createAgent,
  createEntity,
  createPolicy,
  issueKey,
  propose,
} from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { isReplayed, send, type Parsed } from '../support/application/send';
import { temporaryDatabase } from '../support/database/temporary-database';
import { responseParts, DOCUMENT, KeyedRequests, PREVIOUS_KEY } from './keyed-requests';
import { StepsController } from './steps.module';

const WITHOUT_KEY: ReadonlySet<string> = new Set([
  'apiKeys_issue',
  'webhooks_create',
  'webhooks_rotateSecret',
  'evaluate_action',
  'policySets_plan',
  'provenance_verify',
  'webhooks_test',
  'passkeys_options',
  'authzen_evaluation',
  'authzen_evaluations',
  // Each outcome is taken once anyway.
  'executions_reportEach',
]);

describe('A POST with an Idempotency-Key', () => {
  let requests: KeyedRequests;

  beforeAll(async () => {
    requests = await KeyedRequests.start(await temporaryDatabase());
  });
  afterEach(() => chainIsValid(requests.app));
  afterAll(() => requests.end());

  describe('takes effect once, and has its status, body and headers replayed:', () => {
    const MAKERS: readonly [name: string, status: number, request: () => Promise<[path: string, body?: object]>][] = [
      [
        'an entity',
        201,
        async () => ['entities', { type: 'host', name: 'web', properties: { a: [1, 0.1, { b: null }] } }],
      ],
      [
        'a claim',
        201,
        async () => [`entities/${(await createEntity(requests.app)).id}/claims`, { predicate: 'a', value: false }],
      ],
      ['an agent', 201, async () => ['agents', { name: `agent ${requests.newKey()}`, roles: ['a'] }]],
      ['a suspension', 200, async () => [`agents/${await requests.newAgent()}/suspend`, { reason: 'x' }]],
      ['a suspension without a body', 200, async () => [`agents/${await requests.newAgent()}/suspend`]],
      ['a resumption', 200, async () => [`agents/${await requests.newAgent()}/resume`, {}]],
      ['a policy', 201, async () => ['policies', { ...RULES, name: requests.newKey(), version: '1' }]],
      ['a deactivation', 200, async () => [`policies/${(await createPolicy(requests.app, RULES)).id}/deactivate`]],
      ['an activation', 200, async () => [`policies/${(await createPolicy(requests.app, RULES)).id}/activate`]],
      [
        'a set of policies',
        200,
        async () => {
          const policies = [{ ...RULES, name: requests.newKey(), version: '1' }];
          return ['policies/apply', { base: (await requests.post('policies/plan', { policies })).body.base, policies }];
        },
      ],
      [
        'a proposal',
        201,
        async () => ['decisions', { type: 'a', title: 'b', proposedBy: await requests.newAgent(), riskLevel: 'low' }],
      ],
      [
        'an approval',
        200,
        async () => [`decisions/${await proposal()}/approve`, { approverId: await requests.newAgent() }],
      ],
      ['a rejection', 200, async () => [`decisions/${await proposal()}/reject`, { reason: 'x' }]],
      ['a cancelled decision', 200, async () => [`decisions/${await proposal()}/cancel`, { reason: 'x' }]],
      ['a request for approval', 202, async () => ['agents/bot/execute', newRequest()]],
      ['a cancelled request', 200, async () => [`executions/${(await requestApproval()).id}/cancel`, { reason: 'x' }]],
      ['a resume', 200, async () => [`executions/${await approvedExecution()}/resume`]],
      [
        'a result',
        200,
        async () => {
          const { id } = (await requests.post('agents/bot/execute', { action: 'look', ...DOCUMENT })).body;
          return [`executions/${id}/result`, { outcome: 'executed', result: 1 }];
        },
      ],
      ['a revocation', 200, async () => [`api-keys/${(await issueKey(requests.app)).id}/revoke`, { reason: 'x' }]],
      ['a replay of a webhook', 200, async () => [`webhooks/${await webhook()}/replay`, { after: 0 }]],
      ['a resumed webhook', 200, async () => [`webhooks/${await webhook()}/resume`]],
      ['an authorised execution', 200, async () => ['agents/bot/execute', { action: 'look', ...DOCUMENT }]],
      ['an execution that ran', 200, async () => ['agents/bot/execute', { action: 'note', ...DOCUMENT }]],
      ['an execution that failed', 200, async () => ['agents/bot/execute', { action: 'fail', ...DOCUMENT }]],
      ['a request of a module that writes twice', 201, async () => [`steps/${requests.newKey()}`, { text: 'x' }]],
    ];
    const RULES = { effect: 'deny', subjects: ['agent:nobody'], actions: ['nothing'], resources: ['*'] };

    async function webhook(): Promise<string> {
      return (await requests.post('webhooks', { url: 'https://nowhere.invalid/', actions: ['none'] })).body.id;
    }

    async function proposal(): Promise<string> {
      return (await propose(requests.app, await requests.newAgent())).id;
    }

    function newRequest(): object {
      return { action: 'ask', resourceType: 'word', resourceId: requests.newKey() };
    }

    async function requestApproval(): Promise<Parsed> {
      return (await requests.post('agents/bot/execute', newRequest())).body;
    }

    async function approvedExecution(): Promise<string> {
      const { id, decisionId } = await requestApproval();
      await requests.post(`decisions/${decisionId}/approve`, { approverId: await requests.newAgent() });
      return id;
    }

    it.each(MAKERS)('%s', async (_name, status, request) => {
      const [path, body] = await request();
      await requests.expectOneEffect(path, body, status);
    });

    it('every POST that the document has', async () => {
      const document = (await send(requests.app, 'GET', '/docs/openapi.json')).body;
      const operations = Object.values<Parsed>(document.paths).flatMap(({ post: operation }) => operation ?? []);
      // Routes that return a secret refuse the key, and routes that only read ignore it.
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

  it('means nothing on a verification, but its form is checked', async () => {
    const first = await requests.post('provenance/verify', {}, 'verify');
    await createEntity(requests.app);
    const second = await requests.post('provenance/verify', {}, 'verify');
    expect(second.body.entriesVerified).toBe(Number(first.body.entriesVerified) + 1);
    expect(isReplayed(second)).toBe(false);
    expect((await requests.post('provenance/verify', {}, 'two words')).status).toBe(400);
  });

  it.each([
    ['for want of a capability', 'agents/bot/execute', { action: 'unknown', ...DOCUMENT }],
    ['for want of a policy', 'agents/bot/execute', { action: 'unmatched', ...DOCUMENT }],
    ['by a policy', 'agents/bot/execute', { action: 'forbidden', ...DOCUMENT }],
  ])('that was refused %s is refused again in the same words, and recorded once', async (_name, path, body) => {
    const again = await requests.expectOneEffect(path, body, 403);
    const { requestId } = again.body.error;
    expect(again.headers.get('x-request-id')).not.toBe(requestId);
    const audited = (await requests.get('audit?action=execution.denied&limit=1')).data;
    expect(audited).toMatchObject([{ requestId }]);
  });

  it('for a review or proposal that a rule refuses is refused again in the same words, and recorded once', async () => {
    const { id: proposer } = await createAgent(requests.app, { name: requests.newKey() });
    const { id } = await propose(requests.app, proposer);
    await requests.expectOneEffect(`decisions/${id}/approve`, { approverId: proposer }, 403);
    const { id: bot } = await requests.get('agents/bot');
    await requests.expectOneEffect(`decisions/${id}/reject`, { approverId: bot }, 403);
    await requests.post(`agents/${proposer}/suspend`, {});
    const decision = { type: 'a', title: 'b', proposedBy: proposer, riskLevel: 'low' };
    await requests.expectOneEffect('decisions', decision, 403);
  });

  it('has its answer replayed although the record is gone or has changed since', async () => {
    const { id } = await createEntity(requests.app);
    const claim = { predicate: 'a', value: 1 };
    const first = await requests.post(`entities/${id}/claims`, claim, 'gone');
    await send(requests.app, 'DELETE', `/api/v1/entities/${id}`);
    expect(responseParts(await requests.post(`entities/${id}/claims`, claim, 'gone'))).toEqual(responseParts(first));
    expect((await requests.post(`entities/${id}/claims`, claim, requests.newKey())).status).toBe(404);

    const { id: agent } = await createAgent(requests.app, { name: requests.newKey() });
    const suspended = await requests.post(`agents/${agent}/suspend`, {}, 'on-leave');
    await requests.post(`agents/${agent}/resume`, {});
    expect(responseParts(await requests.post(`agents/${agent}/suspend`, {}, 'on-leave'))).toEqual(
      responseParts(suspended),
    );
    expect(await requests.get(`agents/${agent}`)).toMatchObject({ status: 'active', revision: 3 });
  });

  it('with another body is a conflict, and changes nothing', async () => {
    const key = requests.newKey();
    const first = await requests.post('agents', { name: key }, key);
    const before = await requests.entries();
    for (const body of [{ name: `${key}!` }, { name: key, description: '' }, { name: key, roles: [] }]) {
      const answer = await requests.post('agents', body, key);
      expect(answer).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
      expect(isReplayed(answer)).toBe(false);
    }
    expect(await requests.entries()).toBe(before);
    expect(responseParts(await requests.post('agents', { name: key }, key))).toEqual(responseParts(first));
  });

  it('with another body is validated first, and is a conflict before the record is looked up', async () => {
    const { id } = await createEntity(requests.app);
    const path = `entities/${id}/claims`;
    await requests.post(path, { predicate: 'a', value: 1 }, 'first-things');
    await send(requests.app, 'DELETE', `/api/v1/entities/${id}`);
    expect((await requests.post(path, { predicate: 'a' }, 'first-things')).status).toBe(400);
    expect((await requests.post(path, { predicate: 'a', value: 2 }, 'first-things')).status).toBe(409);
  });

  it('has the same body however its JSON is written', async () => {
    const first = await requests.post(
      'entities',
      '{"type":"a","name":"Zoë","properties":{"x":1,"y":[1.0,2]}}',
      'spelling',
    );
    const again = await requests.post(
      'entities',
      ' {"properties": {"y": [1, 2e0], "x": 1}, "name": "Zo\\u00eb", "type": "a"}\n',
      'spelling',
    );
    expect(responseParts(again)).toEqual(responseParts(first));
    const { id } = await createAgent(requests.app, { name: requests.newKey() });
    await requests.post(`agents/${id}/suspend`, undefined, 'empty');
    expect(isReplayed(await requests.post(`agents/${id}/suspend`, {}, 'empty'))).toBe(true);
  });

  it('is a different request at another path, and the same at the same path however that is encoded', async () => {
    const { id } = await createAgent(requests.app, { name: 'Zoë & co' });
    const first = await requests.post(`agents/${encodeURIComponent('Zoë & co')}/suspend`, {}, 'paths');
    expect(isReplayed(await requests.post('agents/Zo%C3%AB%20%26%20co/suspend', {}, 'paths'))).toBe(true);
    expect(isReplayed(await requests.post('agents/Zo%c3%ab%20&%20co/suspend/', {}, 'paths'))).toBe(true);
    expect(isReplayed(await requests.post(`agents/${id}/suspend`, {}, 'paths'))).toBe(false);
    expect(isReplayed(await requests.post(`agents/${id}/resume`, {}, 'paths'))).toBe(false);
    expect(isReplayed(await requests.post('entities', { type: 'a', name: 'b' }, 'paths'))).toBe(false);
    expect(first.body.revision).toBe(2);
  });

  it('is the same request with the previous API key, since both belong to one caller', async () => {
    const body = { type: 'rotated', name: 'x' };
    const key = requests.newKey();
    const first = await requests.post('entities', body, key);
    const path = '/api/v1/entities';
    const again = await send(requests.app, 'POST', path, {
      body,
      key: PREVIOUS_KEY,
      headers: { 'Idempotency-Key': key },
    });
    expect(responseParts(again)).toEqual(responseParts(first));
    expect(isReplayed(again)).toBe(true);
    const other = { ...body, name: 'y' };
    const conflict = await send(requests.app, 'POST', path, {
      body: other,
      key: PREVIOUS_KEY,
      headers: { 'Idempotency-Key': key },
    });
    expect(conflict).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
    const stranger = await send(requests.app, 'POST', path, {
      body,
      key: 'unknown',
      headers: { 'Idempotency-Key': key },
    });
    expect(stranger.status).toBe(401);
    expect(isReplayed(stranger)).toBe(false);
  });

  it('that failed for other reasons can be sent again, since failures are not stored', async () => {
    const key = requests.newKey();
    const body = { action: 'look', ...DOCUMENT };
    expect((await requests.post('agents/later-bot/execute', body, key)).status).toBe(404);
    await createAgent(requests.app, { name: 'later-bot', capabilities: ['look'] });
    const executed = await requests.post('agents/later-bot/execute', body, key);
    expect(executed.status).toBe(200);
    expect(isReplayed(executed)).toBe(false);

    const decision = { type: 'a', title: 'b', proposedBy: 'agt_none', riskLevel: 'low' };
    expect((await requests.post('decisions', decision, key)).status).toBe(400);
    const repaired = { ...decision, proposedBy: await requests.newAgent() };
    expect((await requests.post('decisions', repaired, key)).status).toBe(201);

    expect((await requests.post('agents', { name: 'bot' }, key)).status).toBe(409);
    expect((await requests.post('agents', { name: `not ${key}` }, key)).status).toBe(201);
  });

  it('takes effect once, with one answer to all, when many are sent at once', async () => {
    const key = requests.newKey();
    const before = await requests.entries();
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => requests.post('entities', { type: 'race', name: key }, key)),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(responseParts(answer)))).size).toBe(1);
    expect(answers.filter((answer) => !isReplayed(answer))).toHaveLength(1);
    expect((await requests.get('entities?type=race')).total).toBe(1);
    expect(await requests.entries()).toBe(before + 1);
  });

  it('with two racing bodies takes effect once; the other one is a conflict', async () => {
    const key = requests.newKey();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, number) => requests.post('entities', { type: key, name: `name ${number}` }, key)),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(9);
    expect((await requests.get(`entities?type=${key}`)).total).toBe(1);
  });

  it('whose stored answer was damaged fails alone: other requests in the batch take effect once', async () => {
    const key = requests.newKey();
    const body = { type: 'damaged', name: 'x' };
    await requests.post('entities', body, key);
    const foreign = await foreignConnection(requests.app);
    await foreign.run(`UPDATE "idempotency_keys" SET "answer" = '{' WHERE "answer" LIKE $1`, ['%"type":"damaged"%']);
    await foreign.close();
    const before = Number((await requests.get('stats')).entities);
    const writes = Array.from({ length: 60 }, (_unused, index) =>
      index % 6 === 3 ? requests.post('entities', body, key) : requests.post('entities', { type: 'next', name: 'x' }),
    );
    const statuses = (await Promise.all(writes)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 500)).toHaveLength(10);
    expect(statuses.filter((status) => status === 201)).toHaveLength(50);
    expect((await requests.get('stats')).entities).toBe(before + 50);
  });

  it('that failed between two writes is completed when it is sent again: each write happens once', async () => {
    const controller = requests.app.application.get(StepsController, { strict: false });
    const [key, slug] = [requests.newKey(), requests.newKey()];
    controller.failing = true;
    expect((await requests.post(`steps/${slug}`, { text: 'x' }, key)).status).toBe(500);
    const before = await requests.entries();
    controller.failing = false;
    const finished = await requests.post(`steps/${slug}`, { text: 'x' }, key);
    expect(finished.status).toBe(201);
    expect(await requests.entries()).toBe(before + 1);
    expect((await requests.post(`steps/${slug}`, { text: 'x' }, key)).text).toBe(finished.text);
    expect(await requests.entries()).toBe(before + 1);
    const notes = (await requests.get('provenance?action=note.added&order=desc&limit=2')).data;
    expect(notes.map(({ subjectId }: Parsed) => subjectId)).toEqual([finished.body.second, finished.body.id]);
  });
});
