import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { IssuedApiKeyResponse } from '../../src/governance/api-keys/dto/api-key.dto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createEntity, issueKey } from '../support/application/factories';
import { withoutUnset } from '../support/requests/sealed-form';
import { faults, send, type Answer } from '../support/application/send';
import { moveTime, restoreTime, setClock } from '../support/database/moved-time';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const KEYS = '/api/v1/api-keys';
const MEMBERS = [
  'id',
  'name',
  'scopes',
  'agentId',
  'principals',
  'team',
  'prefix',
  'status',
  'createdAt',
  'expiresAt',
  'revokedAt',
];

describe('API keys', () => {
  let app: TestApp;
  let agentId: string;

  beforeAll(async () => {
    app = await createTestApp();
    agentId = (await createAgent(app, { name: 'invoice-bot' })).id;
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  function create(body: object): Promise<Answer> {
    return send(app, 'POST', KEYS, { body: { name: 'a key', scopes: ['read'], ...body } });
  }

  async function statusWith(key: string): Promise<number> {
    return (await send(app, 'GET', '/api/v1/entities', { key })).status;
  }

  async function revoke({ id }: { readonly id: string }, body: object = {}): Promise<Answer> {
    return send(app, 'POST', `${KEYS}/${id}/revoke`, { body });
  }

  it('are issued with a secret that no other answer shows', async () => {
    const issued = await issueKey(app, { scopes: ['read', 'audit'] });
    const ulid = issued.id.slice('key_'.length);
    expect(Object.keys(issued)).toEqual([...MEMBERS, 'secret']);
    expect(issued).toMatchObject({ name: 'a key', scopes: ['read', 'audit'], agentId: null, status: 'active' });
    expect(issued).toMatchObject({ prefix: `agk_${ulid}`, expiresAt: null, revokedAt: null });
    expect(issued.secret).toMatch(new RegExp(`^agk_${ulid}_[A-Za-z0-9_-]{43}$`));
    const { secret, ...record } = issued;
    expect((await send(app, 'GET', `${KEYS}/${issued.id}`)).body).toEqual(record);
    const { data } = (await send(app, 'GET', `${KEYS}?limit=1000`)).body;
    expect(data).toContainEqual(record);
    const [entry] = await auditOf(app, issued.id);
    expect(entry).toMatchObject({ action: 'api_key.created', subjectType: 'api_key', agentId: null });
    const sealed = (await send(app, 'GET', `/api/v1/provenance/${entry?.sequence}`)).body.state;
    expect(sealed).toEqual({ ...withoutUnset(record), secretHash: hash('sha256', secret, 'hex') });
  });

  it.each([
    ['X-API-Key', (key: string) => ({ 'X-API-Key': key })],
    ['Authorization', (key: string) => ({ Authorization: `Bearer ${key}` })],
    ['Authorization, the scheme in another case', (key: string) => ({ Authorization: `bEARER ${key}` })],
    ['X-API-Key with another scheme', (key: string) => ({ 'X-API-Key': key, Authorization: 'Basic YTpi' })],
  ])('open the door in %s', async (_where, headers) => {
    const { secret } = await issueKey(app);
    expect((await send(app, 'GET', '/api/v1/entities', { key: null, headers: headers(secret) })).status).toBe(200);
  });

  it.each([
    ['X-API-Key', (secret: string) => ({ key: secret, headers: {} })],
    ['Authorization', (secret: string) => ({ key: null, headers: { Authorization: `Bearer ${secret}` } })],
  ])('in %s keep eight of their characters out of the id of the request', async (_header, sent) => {
    const { id, secret } = await issueKey(app, { scopes: ['entities'] });
    const { key, headers } = sent(secret);
    for (const part of [secret.slice(-8), secret.slice(40, 48), id.slice(-8)]) {
      const body = { type: 'x', name: part };
      const options = { key, body, headers: { ...headers, 'X-Request-Id': `r-${part}` } };
      const answer = await send(app, 'POST', '/api/v1/entities', options);
      expect(answer.status).toBe(201);
      const requestId = answer.headers.get('x-request-id');
      expect(requestId).not.toContain(part);
      expect(await auditOf(app, answer.body.id)).toMatchObject([{ requestId }]);
    }
    const harmless = `r.${secret.slice(-7)}`;
    const options = { key, headers: { ...headers, 'X-Request-Id': harmless } };
    expect((await send(app, 'GET', '/api/v1/me', options)).headers.get('x-request-id')).toBe(harmless);
  });

  it('are shown by GET /me', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { id, secret } = await issueKey(app, { scopes: ['execute'], agentId: 'invoice-bot', expiresAt });
    const { body } = await send(app, 'GET', '/api/v1/me', { key: secret });
    expect(body).toEqual({ actor: { type: 'api_key', id }, agentId, team: null, scopes: ['execute'], expiresAt });
    const operator = (await send(app, 'GET', '/api/v1/me')).body;
    expect(operator).toMatchObject({ actor: { type: 'api_key', id: 'env' }, agentId: null, expiresAt: null });
    expect(operator.scopes).toHaveLength(9);
  });

  it('are the actor of what they write', async () => {
    const { id, secret } = await issueKey(app, { scopes: ['entities'] });
    const { body } = await send(app, 'POST', '/api/v1/entities', { key: secret, body: { type: 'a', name: 'b' } });
    expect(await auditOf(app, body.id)).toMatchObject([{ actor: { type: 'api_key', id } }]);
  });

  it.each<[string, object, string]>([
    ['no scope', { scopes: [] }, 'scopes'],
    ['an unknown scope', { scopes: ['read', 'write'] }, 'scopes[1]'],
    ['a scope twice', { scopes: ['read', 'read'] }, 'scopes[1]'],
    ['no name', { name: ' ' }, 'name'],
    ['a long name', { name: 'x'.repeat(101) }, 'name'],
    ['an agent that does not exist', { agentId: 'nobody' }, 'agentId'],
    ['admin for one agent', { scopes: ['admin'], agentId: 'invoice-bot' }, 'agentId'],
    ['a time that is over', { expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    ['a time too far ahead', { expiresAt: '2100-01-01T00:00:00Z' }, 'expiresAt'],
    ['an unknown member', { secret: 'x' }, 'secret'],
  ])('are not issued with %s', async (_what, body, field) => {
    const answer = await create(body);
    expect(answer.status).toBe(400);
    expect(faults(answer)).toHaveProperty([field]);
  });

  it('are not issued under an Idempotency-Key, which would keep the secret', async () => {
    const headers = { 'Idempotency-Key': 'again' };
    const answer = await send(app, 'POST', KEYS, { body: { name: 'x', scopes: ['read'] }, headers });
    expect(answer.status).toBe(400);
    expect(faults(answer)).toHaveProperty(['header.Idempotency-Key']);
  });

  it('give no access once they are revoked, and revoking again changes nothing', async () => {
    const key = await issueKey(app, { agentId });
    expect(await statusWith(key.secret)).toBe(200);
    expect(Object.keys(faults(await revoke(key, { reason: 'x'.repeat(2_001) })))).toEqual(['reason']);
    const first = await revoke(key, { reason: 'It was lost.' });
    expect(first.body).toMatchObject({ id: key.id, status: 'revoked', revokedAt: expect.any(String) });
    expect(first.body).not.toHaveProperty('secret');
    expect(await statusWith(key.secret)).toBe(401);
    expect((await revoke(key, { reason: 'Again.' })).body).toEqual(first.body);
    const entries = await auditOf(app, key.id);
    expect(entries).toMatchObject([
      { action: 'api_key.created', agentId },
      { action: 'api_key.revoked', agentId, reason: 'It was lost.', details: {} },
    ]);
  });

  it('are refused alike, whether wrong, revoked or expired', async () => {
    const revoked = await issueKey(app);
    await revoke(revoked);
    const expired = await issueKey(app, { expiresAt: new Date(Date.now() + 3_000).toISOString() });
    await sleep(3_010);
    const { secret, prefix } = await issueKey(app);
    const wrong = [`${prefix}_${'A'.repeat(43)}`, secret.slice(0, -1), `${secret}x`, prefix, 'agk_', ''];
    const answers = await Promise.all(
      [revoked.secret, expired.secret, ...wrong].map((key) => send(app, 'GET', '/api/v1/entities', { key })),
    );
    const refusals = answers.map(({ status, body, headers }) =>
      JSON.stringify([status, body.error.code, body.error.message, headers.get('www-authenticate')]),
    );
    expect(new Set(refusals).size).toBe(1);
    expect(answers[0]?.status).toBe(401);
    expect(answers[0]?.headers.get('www-authenticate')).toBe('ApiKey realm="governance", Bearer realm="governance"');
  });

  it('expire on time, which is recorded within a second; revoking them afterwards changes nothing', async () => {
    const key = await issueKey(app, { agentId, expiresAt: new Date(Date.now() + 3_000).toISOString() });
    expect(await statusWith(key.secret)).toBe(200);
    await sleep(3_010);
    expect(await statusWith(key.secret)).toBe(401);
    const settled = await untilEnded(key);
    expect(settled).toMatchObject({ status: 'expired', revokedAt: null });
    expect((await revoke(key)).body).toEqual(settled);
    expect(await auditOf(app, key.id)).toMatchObject([
      { action: 'api_key.created' },
      { action: 'api_key.expired', actor: { type: 'system' }, agentId, requestId: null },
    ]);
  });

  it('that expire together leave room for the writes of callers', async () => {
    const issue = (count: number, body: Parameters<typeof issueKey>[1]): Promise<IssuedApiKeyResponse[]> =>
      Promise.all(Array.from({ length: count }, () => issueKey(app, body)));
    const began = Date.now();
    await issue(10, {});
    // Time enough to issue all of them, on any machine.
    const expiresAt = new Date(Date.now() + 3_000 + 30 * (Date.now() - began)).toISOString();
    const keys = await issue(100, { expiresAt });
    await sleep(Date.parse(expiresAt) - Date.now());
    let isOver = false;
    const writing = async (): Promise<void> => {
      while (!isOver) await createEntity(app);
    };
    const writers = [writing(), writing()];
    for (const key of keys) await untilEnded(key);
    isOver = true;
    await Promise.all(writers);
    const { data } = (await send(app, 'GET', '/api/v1/audit?action=api_key.expired&order=desc&limit=100')).body;
    const [last, first] = [data[0].sequence, data[99].sequence];
    expect(last - first).toBeGreaterThanOrEqual(keys.length);
  });

  async function untilEnded({ id }: IssuedApiKeyResponse): Promise<object> {
    for (;;) {
      const { body } = await send(app, 'GET', `${KEYS}/${id}`);
      if (body.status !== 'active') return body;
      await sleep(20);
    }
  }

  it('are listed by status and by agent', async () => {
    const other = await createAgent(app, { name: 'other-bot' });
    const [first, second] = [await issueKey(app, { agentId: other.id }), await issueKey(app, { agentId: other.id })];
    await revoke(first);
    const listed = async (query: string): Promise<string[]> =>
      (await send(app, 'GET', `${KEYS}?${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await listed(`agentId=${other.id}`)).toEqual([first.id, second.id]);
    expect(await listed('agentId=other-bot')).toEqual([first.id, second.id]);
    expect(await listed(`agentId=${other.id}&status=active`)).toEqual([second.id]);
    expect(await listed(`agentId=${other.id}&status=revoked`)).toEqual([first.id]);
  });

  it('are 404 for an unknown id', async () => {
    expect((await send(app, 'GET', `${KEYS}/key_x`)).status).toBe(404);
    expect((await send(app, 'POST', `${KEYS}/key_x/revoke`)).status).toBe(404);
  });

  it('give no access while their agent is suspended, and full access again once it is resumed', async () => {
    const { id } = await createAgent(app, { name: 'paused' });
    const { secret } = await issueKey(app, { agentId: id, scopes: ['read', 'entities'] });
    await send(app, 'POST', `/api/v1/agents/${id}/suspend`);
    for (const [method, path] of [
      ['GET', '/api/v1/entities'],
      ['GET', '/api/v1/me'],
      ['POST', '/api/v1/entities'],
    ] as const) {
      const answer = await send(app, method, path, { key: secret });
      expect([answer.status, answer.body.error.reason]).toEqual([403, 'agent_suspended']);
    }
    expect((await send(app, 'GET', '/api/v1/nothing', { key: secret })).status).toBe(404);
    await send(app, 'POST', `/api/v1/agents/${id}/resume`);
    expect(await statusWith(secret)).toBe(200);
  });

  it('write nothing once they are revoked, however the writes race', async () => {
    const key = await issueKey(app, { scopes: ['entities'] });
    const writes = Array.from({ length: 200 }, (_, index) =>
      send(app, 'POST', '/api/v1/entities', { key: key.secret, body: { type: 'race', name: String(index) } }),
    );
    const revoking = revoke(key);
    const answers = await Promise.all(writes);
    await revoking;
    const revokedAt = (await auditOf(app, key.id)).find(({ action }) => action === 'api_key.revoked')?.sequence ?? 0;
    const { data } = (await send(app, 'GET', '/api/v1/audit?action=entity.created&limit=1000')).body;
    const written = data.filter(({ actor }: { actor: { id: string } }) => actor.id === key.id);
    expect(written).toHaveLength(answers.filter(({ status }) => status === 201).length);
    expect(Math.max(0, ...written.map(({ sequence }: { sequence: number }) => sequence))).toBeLessThan(revokedAt);
    expect(answers.every(({ status }) => status === 201 || status === 401)).toBe(true);
  });
});

describe('An API key, when clocks differ', () => {
  const MINUTE = 60_000;
  let app: TestApp;

  beforeAll(async () => (app = await createTestApp()));
  afterAll(async () => {
    await restoreTime();
    await app.close();
  });

  const statusOfOneFor = async (minutes: number, meanwhile: () => Promise<unknown>): Promise<number> => {
    const expiresAt = new Date(Date.now() + minutes * MINUTE).toISOString();
    const { secret: key } = await issueKey(app, { expiresAt });
    expect((await send(app, 'GET', '/api/v1/entities', { key })).status).toBe(200);
    await meanwhile();
    return (await send(app, 'GET', '/api/v1/entities', { key })).status;
  };

  it("has expired once the ledger's clock has reached the time, which never goes back", async () => {
    const status = await statusOfOneFor(10, async () => {
      await moveTime(20 * MINUTE);
      await createEntity(app);
      await restoreTime();
    });
    expect(status).toBe(401);
  });

  it("has expired once the machine's clock has reached the time", async () => {
    expect(await statusOfOneFor(30, () => setClock(40 * MINUTE))).toBe(401);
  });
});

describe('After a restart, API keys', () => {
  let database: TemporaryDatabase;

  beforeAll(async () => (database = await temporaryDatabase()));
  afterAll(() => database.remove());

  it('give the same access as before, and those that had ended give none', async () => {
    const first = await createTestApp({ environment: database.environment });
    const { id: agentId } = await createAgent(first, { name: 'paused' });
    const [active, revoked, paused] = [
      await issueKey(first),
      await issueKey(first),
      await issueKey(first, { agentId }),
    ];
    await send(first, 'POST', `/api/v1/api-keys/${revoked.id}/revoke`);
    await send(first, 'POST', `/api/v1/agents/${agentId}/suspend`);
    await createEntity(first);
    await first.close();
    const app = await createTestApp({ environment: database.environment });
    const statuses = await Promise.all(
      [active, revoked, paused].map(
        async ({ secret: key }) => (await send(app, 'GET', '/api/v1/entities', { key })).status,
      ),
    );
    expect(statuses).toEqual([200, 401, 403]);
    await app.close();
  });
});
