import { ErasuresService } from '../../src/evidence/erasures/erasures.service';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { approve, ask, company, type Company, order, pending, reject, requireApproval } from '../approvals/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createEntity, createPolicy } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { foreignConnection } from '../support/database/foreign-connection';

/** A text that only contents hold. */
const SECRET = 'Erika Mustermann';

describe('Answers that are kept for keys', () => {
  let app: TestApp;
  let foreign: SqlConnection;
  let people: Company;
  let keys = 0;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    foreign = await foreignConnection(app);
    people = await company(app);
    await requireApproval(app);
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  function newKey(): Record<string, string> {
    keys += 1;
    return { 'Idempotency-Key': `key-${keys}` };
  }

  const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> =>
    send(app, 'POST', `/api/v1${path}`, { body, headers });

  async function erase(type: string, id: string): Promise<void> {
    const { status } = await post('/erasures', { subjects: [{ type, id }], reason: 'Request 7' });
    expect(status).toBe(201);
  }

  async function answersWith(text: string): Promise<number> {
    const rows = await foreign.all('SELECT "id" FROM "idempotency_keys" WHERE "answer" LIKE $1', [`%${text}%`]);
    return rows.length;
  }

  it('stay where only a field of another request names what is erased', async () => {
    const { id } = await createEntity(app);
    const requests = [
      { path: '/entities', body: { type: 'note', name: `About ${id}`, properties: { about: id } }, key: newKey() },
      { path: '/decisions', body: proposal(`Whether to keep ${id}`), key: newKey() },
      {
        path: '/agents/bot/execute',
        body: { action: 'refund', resourceType: 'person', resourceId: id },
        key: newKey(),
      },
    ];
    const first = await Promise.all(requests.map(({ path, body, key }) => post(path, body, key)));
    await erase('entity', id);
    const again = await Promise.all(requests.map(({ path, body, key }) => post(path, body, key)));
    expect(again.map(({ body }) => body)).toEqual(first.map(({ body }) => body));
    for (const { headers } of again) expect(headers.get('idempotent-replayed')).toBe('true');
  });

  function proposal(title: string): object {
    return { type: 'other', title, proposedBy: people.bot.id, riskLevel: 'low' };
  }

  it('go with an entity, also those about its claims', async () => {
    const { body: entity } = await post('/entities', { type: 'person', name: SECRET }, newKey());
    await post(`/entities/${entity.id}/claims`, { predicate: 'name', value: SECRET }, newKey());
    expect(await answersWith(SECRET)).toBe(2);
    await erase('entity', entity.id);
    expect(await answersWith(SECRET)).toBe(0);
  });

  it('go with an execution that was refused, whose id the refusal has', async () => {
    const key = newKey();
    const body = { action: 'delete', resourceType: 'person', resourceId: SECRET };
    const refused = await post('/agents/bot/execute', body, key);
    const { data } = (await send(app, 'GET', '/api/v1/executions?outcome=denied&order=desc&limit=1')).body;
    expect(refused.status).toBe(403);
    expect(refused.body.error.executionId).toBe(data[0].id);
    await erase('execution', data[0].id);
    const again = await post('/agents/bot/execute', body, key);
    expect(again.headers.get('idempotent-replayed')).toBeNull();
  });

  it('go with an execution that another request had created', async () => {
    const request = { ...order(), parameters: { for: SECRET } };
    const { id, decisionId } = await pending(app, people.bot, request);
    expect((await ask(app, people.bot, request, newKey())).body.id).toBe(id);
    expect(await answersWith(SECRET)).toBe(1);
    await reject(app, decisionId, people.ann);
    await erase('execution', id);
    expect(await answersWith(SECRET)).toBe(0);
  });

  it('go with a decision whose words a later refusal repeats', async () => {
    const request = order();
    const { decisionId } = await pending(app, people.bot, request);
    await reject(app, decisionId, people.ann, `Not for ${SECRET}`);
    expect((await ask(app, people.bot, request, newKey())).body.error.rejection.comment).toContain(SECRET);
    expect(await answersWith(SECRET)).toBe(1);
    await erase('decision', String(decisionId));
    expect(await answersWith(SECRET)).toBe(0);
  });

  it('go with a grant whose decision is erased', async () => {
    const grant = { for: 'PT1H', resources: [SECRET] };
    const approval = { approvers: [{ subjects: ['role:finance'] }], grant: { for: 'PT1H', wider: true } };
    await createPolicy(app, { effect: 'require_approval', actions: ['send'], approval });
    const { decisionId } = await pending(app, people.bot, { action: 'send', resourceId: SECRET });
    await post(`/decisions/${decisionId}/approve`, { approverId: people.ann.id, grant });
    const { id, executionId } = (await send(app, 'GET', `/api/v1/decisions/${decisionId}`)).body;
    await post(`/executions/${executionId}/cancel`, {});
    const { data } = (await send(app, 'GET', `/api/v1/grants?decisionId=${id}`)).body;
    await post(`/grants/${data[0].id}/revoke`, {}, newKey());
    expect(await answersWith(SECRET)).toBe(1);
    await erase('decision', id);
    expect(await answersWith(SECRET)).toBe(0);
  });

  it('go with what their own commit erases', async () => {
    const entities = await Promise.all(Array.from({ length: 20 }, () => createEntity(app)));
    const claim = { predicate: 'name', value: SECRET };
    await Promise.all(
      entities.flatMap(({ id }) => [post(`/entities/${id}/claims`, claim, newKey()), erase('entity', id)]),
    );
    expect(await answersWith(SECRET)).toBe(0);
  });

  it('stay for the key of an erasure itself', async () => {
    const { id } = await createEntity(app);
    const key = newKey();
    const body = { subjects: [{ type: 'entity', id }], reason: 'Request 7' };
    const first = await post('/erasures', body, key);
    const again = await post('/erasures', body, key);
    expect({ status: again.status, body: again.body }).toEqual({ status: 201, body: first.body });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });
});

describe('What is erased again after a restore', () => {
  let app: TestApp;
  let foreign: SqlConnection;

  beforeAll(async () => {
    app = await createTestApp();
    foreign = await foreignConnection(app);
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  it('loses its kept answers however young it is, and nothing is written when nothing is there', async () => {
    const headers = { 'Idempotency-Key': 'before-the-restore' };
    const { id } = (await send(app, 'POST', '/api/v1/entities', { body: { type: 'a', name: SECRET }, headers })).body;
    const people = await company(app);
    await requireApproval(app);
    const waiting = await pending(app, people.bot);
    await approve(app, waiting.decisionId, people.ann);
    const unknown = { type: 'execution', id: 'exe_01M7W000000000000000000001' } as const;
    const back = [
      { type: 'entity', id },
      { type: 'decision', id: String(waiting.decisionId) },
    ] as const;
    const erasures = app.application.get(ErasuresService);
    const erasure = await erasures.eraseAgain([...back, unknown], 'A backup was restored');
    expect(erasure?.subjects).toEqual(back);
    expect(await foreign.all('SELECT "id" FROM "idempotency_keys" WHERE "answer" LIKE $1', [`%${SECRET}%`])).toEqual(
      [],
    );
    const { total } = (await send(app, 'GET', '/api/v1/erasures')).body;
    expect(await erasures.eraseAgain([...back, unknown], 'A backup was restored')).toBeNull();
    expect((await send(app, 'GET', '/api/v1/erasures')).body.total).toBe(total);
    expect((await send(app, 'GET', '/api/v1/audit?action=erasure.begun')).body.total).toBe(1);
  });
});
