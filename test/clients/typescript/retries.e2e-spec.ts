import { setTimeout as sleep } from 'node:timers/promises';
import type { GovernanceClient } from '../../../clients/typescript/src/index.js' with { 'resolution-mode': 'import' };
import type { EntityResponse } from '../../../src/governance/entities/dto/entity.dto';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { foreignConnection } from '../../support/database/foreign-connection';
import { createAgent, createEntity, issueKey } from '../../support/application/factories';
import { type HttpProxy, openHttpProxy, type Treatment } from '../../support/application/http-proxy';
import { send } from '../../support/application/send';
import { builtClient } from '../typescript-client';

/** The requests that an address has in a window. */
const LIMIT = 10;

describeOnSqlite('What the TypeScript client sends again', () => {
  let module: Awaited<ReturnType<typeof builtClient>>;
  let app: TestApp;
  let proxy: HttpProxy;
  let client: GovernanceClient;
  let received: HttpProxy['received'];
  let treatments: HttpProxy['treatments'];

  beforeAll(async () => {
    module = await builtClient();
    app = await createTestApp();
    proxy = await openHttpProxy(app.url);
    client = clientOf(proxy.url);
  });
  beforeEach(() => {
    ({ received, treatments } = proxy);
    received.splice(0);
  });
  afterAll(async () => {
    proxy.close();
    await app.close();
  });

  function clientOf(url: string, patience = 60_000): GovernanceClient {
    return new module.GovernanceClient({ url, key: API_KEY, patience });
  }

  const entity = (id: string): Promise<EntityResponse> =>
    send(app, 'GET', `/api/v1/entities/${id}`).then(({ body }) => body);

  it('waits for the next window of the rate limit', async () => {
    const strict = await createTestApp({ environment: { RATE_LIMIT: String(LIMIT), RATE_WINDOW: '2000' } });
    const name = 'limited';
    const posting = clientOf(strict.url);
    const made = Array.from({ length: 2 * LIMIT }, () =>
      posting.post('/api/v1/entities', { body: { type: 'retry', name } }),
    );
    const ids = (await Promise.all(made)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(2 * LIMIT);
    const { total } = await posting.get('/api/v1/entities', { query: { type: 'retry' } });
    expect(total).toBe(2 * LIMIT);
    // Longer than it may wait.
    const impatient = clientOf(strict.url, 0);
    const requests = Array.from({ length: LIMIT + 1 }, () => impatient.get('/api/v1/stats'));
    const refused = (await Promise.allSettled(requests)).filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]).toMatchObject({ reason: { code: 'RATE_LIMITED', status: 429, isOutcomeUnknown: false } });
    await strict.close();
  });

  it('repeats a write while the database is locked', async () => {
    const foreign = await foreignConnection(app);
    await foreign.run('BEGIN IMMEDIATE');
    const creating = client.post('/api/v1/entities', { body: { type: 'retry', name: 'locked' } });
    const refused = clientOf(app.url, 0).post('/api/v1/entities', { body: { type: 'retry', name: 'refused' } });
    await expect(refused).rejects.toMatchObject({ status: 503, code: 'UNAVAILABLE', isOutcomeUnknown: false });
    while (received.length < 2) await sleep(20);
    await foreign.close();
    const { id } = await creating;
    expect((await entity(id)).name).toBe('locked');
    expect(new Set(received.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  });

  it('comes back at the date that a proxy names, by its clock, or not at all', async () => {
    const until = (headers: Record<string, string>): Treatment => {
      return (response) => void response.writeHead(503, headers).end();
    };
    const date = new Date(Date.now() + 3_000).toUTCString();
    treatments.push(until({ 'Retry-After': date }));
    await client.get('/api/v1/stats');
    expect(received).toHaveLength(2);
    expect(Number(received[1]?.at)).toBeGreaterThanOrEqual(Date.parse(date) - 1_000);
    treatments.push(until({ 'Retry-After': 'Fri, 01 Jan 2999 00:00:01 GMT', Date: 'Fri, 01 Jan 2999 00:00:00 GMT' }));
    await client.get('/api/v1/stats');
    expect(received).toHaveLength(4);
    treatments.push(until({ 'Retry-After': 'Fri, 01 Jan 2999 00:00:00 GMT' }));
    await expect(client.get('/api/v1/stats')).rejects.toMatchObject({ status: 503 });
    expect(received).toHaveLength(5);
  });

  it.each(['9999999999', '9'.repeat(400)])('does not come back after a wait of many digits: %s', async (seconds) => {
    treatments.push((response) => void response.writeHead(503, { 'Retry-After': seconds }).end());
    await expect(client.get('/api/v1/stats')).rejects.toMatchObject({ status: 503 });
    // With more patience than there is any need for it waits, instead of coming back at once.
    const ending = new AbortController();
    treatments.push((response) => void response.writeHead(503, { 'Retry-After': seconds }).end());
    const pendingRequest = clientOf(proxy.url, 1e12).get('/api/v1/stats', { signal: ending.signal });
    const refused = expect(pendingRequest).rejects.toThrow();
    while (received.length < 2) await sleep(20);
    await sleep(500);
    ending.abort();
    await refused;
    expect(received).toHaveLength(2);
  });

  it('knows that nothing was sent to who has a certificate that is not trusted', async () => {
    const untrusted: typeof fetch = () =>
      Promise.reject(new TypeError('fetch failed', { cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } }));
    const options = { url: 'https://service.example', key: API_KEY, patience: 0, fetch: untrusted };
    const request = { agent: 'bot', action: 'send', resourceType: 'mail', resourceId: 'mails/1' };
    const guarded = new module.GovernanceClient(options).guard(request, () => 'sent');
    await expect(guarded).rejects.toMatchObject({
      name: 'GovernanceError',
      code: 'UNREACHABLE',
      isOutcomeUnknown: false,
    });
  });

  it('repeats a POST whose answer was lost, which takes effect once', async () => {
    treatments.push('lose the answer', (response) => void response.writeHead(504).end());
    const body = { type: 'lost', name: 'once' };
    const { id } = await client.post('/api/v1/entities', { body });
    const { body: list } = await send(app, 'GET', '/api/v1/entities?type=lost');
    expect(list.data.map((each: EntityResponse) => each.id)).toEqual([id]);
    expect(received.map(({ idempotencyKey }) => idempotencyKey)).toEqual(Array(3).fill(received[0]?.idempotencyKey));
  });

  it('repeats a POST whose answer was lost as the same caller, though the key has changed', async () => {
    const { secret } = await issueKey(app, { name: 'next', scopes: ['entities'] });
    const keys = [API_KEY];
    const key = (): string => keys.pop() ?? secret;
    const changing = new module.GovernanceClient({ url: proxy.url, key, patience: 60_000 });
    treatments.push('lose the answer');
    const { id } = await changing.post('/api/v1/entities', { body: { type: 'new key', name: 'once' } });
    expect(received).toHaveLength(2);
    const { body: list } = await send(app, 'GET', '/api/v1/entities?type=new%20key');
    expect(list.data.map((each: EntityResponse) => each.id)).toEqual([id]);
    // The next request is the new key's.
    await expect(changing.get('/api/v1/stats')).rejects.toMatchObject({ status: 403 });
  });

  it('does not repeat a change whose answer was lost, as others may have changed the record since', async () => {
    const { id } = await createEntity(app, { name: 'before' });
    treatments.push('lose the answer');
    const changing = client.put('/api/v1/entities/{id}', { path: { id }, body: { name: 'after' } });
    await expect(changing).rejects.toMatchObject({ code: 'UNREACHABLE', isOutcomeUnknown: true });
    expect((await entity(id)).name).toBe('after');
    const { name } = await createAgent(app, { name: 'lost' });
    treatments.push('lose the answer');
    const headers = { 'If-Match': '*' };
    const patching = client.patch('/api/v1/agents/{id}', { path: { id: name }, body: { description: 'x' }, headers });
    await expect(patching).rejects.toMatchObject({ code: 'UNREACHABLE', isOutcomeUnknown: true });
    expect(received).toHaveLength(2);
  });

  it('repeats one with If-Match, which changes nothing if it had taken effect', async () => {
    const { id } = await createEntity(app, { name: 'before' });
    const headers = { 'If-Match': '"1"' };
    treatments.push((response) => void response.destroy());
    await client.put('/api/v1/entities/{id}', { path: { id }, body: { name: 'after' }, headers });
    expect((await entity(id)).revision).toBe(2);
    treatments.push('lose the answer');
    const again = client.put('/api/v1/entities/{id}', {
      ...{ path: { id }, body: { name: 'last' } },
      headers: { 'If-Match': '"2"' },
    });
    await expect(again).rejects.toMatchObject({ status: 412, isOutcomeUnknown: true });
    expect(await entity(id)).toMatchObject({ name: 'last', revision: 3 });
  });

  it('repeats a DELETE whose answer was lost, and says that it may have taken effect', async () => {
    const { id } = await createEntity(app);
    treatments.push('lose the answer');
    const deleting = client.delete('/api/v1/entities/{id}', { path: { id } });
    await expect(deleting).rejects.toMatchObject({ status: 404, isOutcomeUnknown: true });
    expect(received.map(({ method }) => method)).toEqual(['DELETE', 'DELETE']);
  });

  it('repeats any change that found the service busy', async () => {
    const { id } = await createEntity(app, { name: 'before' });
    const notReady = JSON.stringify({ error: { code: 'UNAVAILABLE', message: 'The service is stopping.' } });
    treatments.push((response) => void response.writeHead(429).end());
    treatments.push((response) => void response.writeHead(503).end(notReady));
    await client.put('/api/v1/entities/{id}', { path: { id }, body: { name: 'after' } });
    expect(received).toHaveLength(3);
    expect(await entity(id)).toMatchObject({ name: 'after', revision: 2 });
  });

  it.each([502, 503, 504])('does not repeat a change to which a proxy answered %i', async (status) => {
    const { id } = await createEntity(app, { name: 'before' });
    treatments.push((response) => void response.writeHead(status).end('upstream connect error or disconnect/reset'));
    const changing = client.put('/api/v1/entities/{id}', { path: { id }, body: { name: 'after' } });
    await expect(changing).rejects.toMatchObject({ code: 'UNEXPECTED_ANSWER', status, isOutcomeUnknown: true });
    expect(received).toHaveLength(1);
  });
});
