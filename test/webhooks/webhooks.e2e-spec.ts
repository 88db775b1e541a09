import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerService } from '../../src/ledger/ledger.service';
import { DeliveryProgressStore } from '../../src/evidence/webhooks/delivery/delivery-position-store';
import { WebhookDispatcher } from '../../src/evidence/webhooks/delivery/webhook-dispatcher';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createEntity } from '../support/application/factories';
import { faults, type Parsed, send, type Answer } from '../support/application/send';
import { temporaryDatabase } from '../support/database/temporary-database';
import { signatureBy, WebhookEndpoint, type DeliveryHandler } from '../support/application/webhook-endpoint';

/** The seal of an entry, which only its delivery has. */
const HASHES = {
  auditHash: expect.stringMatching(/^[0-9a-f]{64}$/),
  hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  previousHash: expect.stringMatching(/^[0-9a-f]{64}$/),
};
const WEBHOOKS = '/api/v1/webhooks';
const DELIVERING = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', RATE_LIMIT: '1000000' };

describe('Webhooks', () => {
  let app: TestApp;
  const endpoints: WebhookEndpoint[] = [];

  beforeAll(async () => {
    app = await createTestApp({ environment: DELIVERING });
  });
  afterEach(async () => {
    const { data } = (await send(app, 'GET', WEBHOOKS)).body;
    for (const { id } of data as Parsed[]) await send(app, 'DELETE', `${WEBHOOKS}/${id}`);
    await Promise.all(endpoints.splice(0).map((endpoint) => endpoint.close()));
  });
  afterAll(async () => {
    await chainIsValid(app);
    const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body).toMatchObject({ valid: true });
    await app.close();
  });

  async function endpoint(answering?: DeliveryHandler): Promise<WebhookEndpoint> {
    const started = await WebhookEndpoint.start(answering);
    endpoints.push(started);
    return started;
  }

  function create(body: object): Promise<Answer> {
    return send(app, 'POST', WEBHOOKS, { body: { actions: ['*'], ...body } });
  }

  function path({ body }: Answer, verb = ''): string {
    return `${WEBHOOKS}/${body.id}${verb}`;
  }

  function head(): number {
    return app.application.get(LedgerService).head.sequence;
  }

  async function until(isTrue: () => Promise<boolean>): Promise<void> {
    for (let looks = 0; looks < 3_000 && !(await isTrue()); looks += 1) await sleep(20);
    expect(await isTrue()).toBe(true);
  }

  /** Asks when it is written that the endpoint is gone, and not yet that it is failing. */
  function whenGivenUp(ask: () => Promise<Answer>): Promise<Answer> {
    const store = app.application.get(DeliveryProgressStore);
    const write = store.write.bind(store);
    return new Promise((resolve) => {
      const spy = jest.spyOn(store, 'write').mockImplementation(async (all) => {
        const written = await write(all);
        if (all.some(({ lastStatus }) => lastStatus === 410)) {
          spy.mockRestore();
          resolve(await ask());
        }
        return written;
      });
    });
  }

  it('are created with a secret, which no other answer shows', async () => {
    const agent = await createAgent(app, { name: 'watched' });
    const url = 'https://hooks.example.com/a?b=c';
    const created = await create({ url, actions: ['entity.*', 'agent.created'], agentId: 'watched', description: 'x' });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: expect.stringMatching(/^whk_/),
      url,
      format: 'event',
      detail: 'full',
      buttons: false,
      approvers: [],
      actions: ['entity.*', 'agent.created'],
      agentId: agent.id,
      description: 'x',
      status: 'active',
      createdAt: expect.any(String),
      updatedAt: created.body.createdAt,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    const webhook = { ...created.body };
    delete webhook.secret;
    const current = (await send(app, 'GET', path(created))).body;
    const delivery = { sequence: head(), lastAttemptAt: null, lastStatus: null, nextAttemptAt: null };
    expect(current).toEqual({ ...webhook, delivery });
    expect((await send(app, 'GET', WEBHOOKS)).body).toEqual({ data: [webhook], total: 1 });
    const [entry] = await auditOf(app, created.body.id);
    expect(entry).toMatchObject({ action: 'webhook.created', subjectType: 'webhook', outcome: 'success' });
    const sealed = (await send(app, 'GET', `/api/v1/provenance/${entry?.sequence}`)).text;
    expect(sealed).toContain('secretHash');
    expect(sealed).not.toContain('whsec_');
  });

  it('refuse invalid URLs', async () => {
    const strict = await createTestApp();
    const refused = async (body: object): Promise<Record<string, string>> =>
      faults(await send(strict, 'POST', WEBHOOKS, { body: { url: 'https://a.example', actions: ['*'], ...body } }));
    for (const url of [
      'http://a.example',
      'ftp://a.example',
      'https://',
      'a.example',
      'https://u@a.example',
      'https://@a.example',
      'https://a.example/#',
      'https://a.example/ b',
      'https://a.example\\b',
      'https://127.0.0.1',
      'https://0x7f.1',
      'https://2130706433',
      'https://[::1]',
      'https://[::ffff:10.0.0.1]',
      'https://[64:ff9b::a9fe:a9fe]',
      'https://169.254.169.254/latest',
      'https://168.63.129.16',
      'https://100.100.100.200',
    ]) {
      expect([url, Object.keys(await refused({ url }))]).toEqual([url, ['url']]);
      // Together with the other faults.
      const body = { url, actions: [] };
      const changed = faults(await send(strict, 'PATCH', `${WEBHOOKS}/whk_1`, { body }));
      for (const fieldFaults of [await refused(body), changed])
        expect([url, Object.keys(fieldFaults).sort()]).toEqual([url, ['actions', 'url']]);
    }
    const longest = `http://127.0.0.1/${'a'.repeat(2_048 - 'http://127.0.0.1/'.length)}`;
    expect(faults(await create({ url: `${longest}a` }))).toEqual({ url: 'must have 1 to 2048 characters' });
    expect((await create({ url: longest, actions: ['none'] })).status).toBe(201);
    expect(Object.keys(await refused({ actions: [] }))).toEqual(['actions']);
    expect(Object.keys(await refused({ actions: ['a', 'a'] }))).toEqual(['actions[1]']);
    expect(Object.keys(await refused({ actions: ['a*'] }))).toEqual(['actions[0]']);
    expect(Object.keys(await refused({ agentId: 'nobody' }))).toEqual(['agentId']);
    const keyed = await send(strict, 'POST', WEBHOOKS, {
      body: { url: 'https://a.example', actions: ['*'] },
      headers: { 'Idempotency-Key': 'x' },
    });
    expect(faults(keyed)).toEqual({ 'header.Idempotency-Key': expect.any(String) });
    expect(faults(await send(app, 'PATCH', `${WEBHOOKS}/whk_1`, { body: {} }))).toHaveProperty('body');
    await strict.close();
  });

  it('are a hundred at most', async () => {
    for (let count = 0; count < 100; count += 1)
      await create({ url: `http://127.0.0.1:9/${count}`, actions: ['none'] });
    expect((await create({ url: 'http://127.0.0.1:9' })).status).toBe(409);
  });

  it('receive entries after their creation, in order, signed, and as the audit shows them', async () => {
    const target = await endpoint();
    await createEntity(app);
    const created = await create({ url: target.url });
    const before = head();
    await Promise.all(Array.from({ length: 50 }, () => createEntity(app)));
    await target.until(50);
    expect(target.sequences).toEqual(Array.from({ length: 50 }, (_, index) => before + index + 1));
    const { data } = (await send(app, 'GET', '/api/v1/audit?limit=50&order=desc')).body;
    for (const [index, received] of target.received.entries()) {
      const entry = data[49 - index];
      expect(received.body).toEqual({ type: entry.action, timestamp: entry.timestamp, data: { ...entry, ...HASHES } });
      expect(received.id).toBe(entry.id);
      expect(received.signature).toBe(signatureBy(created.body.secret, received));
    }
    await until(async () => (await send(app, 'GET', path(created))).body.delivery.sequence === before + 50);
    const { delivery } = (await send(app, 'GET', path(created))).body;
    expect(delivery).toEqual({
      sequence: before + 50,
      lastAttemptAt: expect.any(String),
      lastStatus: 204,
      nextAttemptAt: null,
    });
  });

  it('receive the actions they name, and keep their position when these change', async () => {
    const target = await endpoint();
    const created = await create({ url: target.url, actions: ['agent.*'] });
    const agent = await createAgent(app, { name: 'asked' });
    await createEntity(app);
    await send(app, 'POST', `/api/v1/agents/${agent.id}/suspend`);
    await target.until(2);
    expect(target.received.map(({ body }) => body.type)).toEqual(['agent.created', 'agent.suspended']);
    const changed = await send(app, 'PATCH', path(created), { body: { actions: ['entity.*'], agentId: 'asked' } });
    expect(changed.body).toMatchObject({ actions: ['entity.*'], agentId: agent.id });
    expect((await auditOf(app, created.body.id)).map(({ action, details }) => [action, details])).toEqual([
      ['webhook.created', { actions: ['agent.*'] }],
      ['webhook.updated', { fields: ['actions', 'agentId'] }],
    ]);
    const entries = head();
    await send(app, 'PATCH', path(created), { body: { agentId: agent.id } });
    expect(head()).toBe(entries);
  });

  it('receive the entries of the agent they name, and no others', async () => {
    const target = await endpoint();
    await createAgent(app, { name: 'followed' });
    await create({ url: target.url, agentId: 'followed', actions: ['agent.*'] });
    const suspend = (name: string): Promise<Answer> => send(app, 'POST', `/api/v1/agents/${name}/suspend`);
    await createAgent(app, { name: 'passed over' });
    await suspend('passed%20over');
    await suspend('followed');
    await send(app, 'POST', '/api/v1/agents/followed/resume');
    await target.until(2);
    expect(target.received.map(({ body }) => body.type)).toEqual(['agent.suspended', 'agent.resumed']);
  });

  it('are continued at their position when the endpoint moves', async () => {
    const away = await endpoint((response) => response.writeHead(503, { 'Retry-After': '3000' }).end());
    const created = await create({ url: away.url, actions: ['entity.*'] });
    const before = head();
    await createEntity(app);
    await createEntity(app);
    await away.until(1);
    const target = await endpoint();
    const moved = await send(app, 'PATCH', path(created), { body: { url: target.url } });
    expect([moved.status, moved.body.url]).toEqual([200, target.url]);
    await createEntity(app);
    await target.until(3);
    // Between them is the entry of the change itself.
    expect(target.sequences).toEqual([before + 1, before + 2, before + 4]);
    expect(away.sequences).toEqual([before + 1]);
  });

  it('are retried until they confirm, without delaying others', async () => {
    const failing = await endpoint((response, _received, index) => response.writeHead(index < 2 ? 500 : 200).end());
    const silent = await endpoint(() => undefined);
    const dead = await endpoint();
    const healthy = await endpoint();
    const hooks = [failing, silent, dead, healthy];
    const [first, , third] = await Promise.all(hooks.map(({ url }) => create({ url, actions: ['entity.*'] })));
    if (first === undefined || third === undefined) throw new Error('No webhook was created.');
    await dead.close();
    endpoints.splice(endpoints.indexOf(dead), 1);
    await Promise.all(Array.from({ length: 20 }, () => createEntity(app)));
    await healthy.until(20);
    await failing.until(22);
    expect(new Set(failing.received.slice(0, 3).map(({ id }) => id)).size).toBe(1);
    expect(failing.sequences.slice(2)).toEqual(healthy.sequences);
    await until(async () => (await send(app, 'GET', path(third))).body.delivery.nextAttemptAt !== null);
    const { status, delivery } = (await send(app, 'GET', path(third))).body;
    expect([status, delivery.lastStatus]).toEqual(['active', null]);
    expect(silent.received).toHaveLength(1);
  });

  it('are given up if the endpoint is gone, and continue at their position when they are resumed', async () => {
    const target = await endpoint((response) => response.writeHead(410).end());
    const created = await create({ url: target.url, actions: ['entity.*'] });
    await createEntity(app);
    await until(async () => (await send(app, 'GET', path(created))).body.status === 'failing');
    await createEntity(app);
    expect(target.received).toHaveLength(1);
    const [, entry] = await auditOf(app, created.body.id);
    expect(entry).toMatchObject({ action: 'webhook.failing', actor: { type: 'system' }, details: { status: 410 } });
    target.answering = (response) => response.writeHead(200).end();
    const resumed = await send(app, 'POST', path(created, '/resume'));
    expect([resumed.status, resumed.body.status]).toEqual([200, 'active']);
    await target.until(3);
    expect(target.sequences[1]).toBe(target.sequences[0]);
    expect((await auditOf(app, created.body.id)).map(({ action }) => action)).toEqual([
      'webhook.created',
      'webhook.failing',
      'webhook.updated',
    ]);
  });

  it('retry at once when they are resumed while waiting', async () => {
    const target = await endpoint((response) => response.writeHead(503, { 'Retry-After': '3000' }).end());
    const created = await create({ url: target.url, actions: ['entity.*'] });
    await createEntity(app);
    const due = async (): Promise<string | null> => (await send(app, 'GET', path(created))).body.delivery.nextAttemptAt;
    await until(async () => (await due()) !== null);
    // Longer than the first delay, as the endpoint requested.
    expect(Date.parse((await due()) ?? '') - Date.now()).toBeGreaterThan(2_000_000);
    target.answering = (response) => response.writeHead(200).end();
    const entries = head();
    expect((await send(app, 'POST', path(created, '/resume'))).status).toBe(200);
    await target.until(2);
    expect(head()).toBe(entries);
  });

  it('can be replayed from a given sequence', async () => {
    const target = await endpoint();
    const created = await create({ url: target.url, actions: ['entity.*'] });
    const before = head();
    await Promise.all(Array.from({ length: 5 }, () => createEntity(app)));
    await target.until(5);
    const replay = (after: number, headers = {}): Promise<Answer> =>
      send(app, 'POST', path(created, '/replay'), { body: { after }, headers });
    expect((await replay(before + 2, { 'Idempotency-Key': 'replay' })).status).toBe(200);
    await target.until(8);
    expect(target.sequences.slice(5)).toEqual([before + 3, before + 4, before + 5]);
    const again = await replay(before + 2, { 'Idempotency-Key': 'replay' });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.text).not.toContain('secret');
    expect(faults(await replay(head() + 1))).toEqual({ after: expect.stringContaining('beyond') });
    await createEntity(app);
    await target.until(9);
    expect(target.sequences.at(-1)).toBe(head());
  });

  it('continue where a replay says, even if the endpoint had failed', async () => {
    const target = await endpoint((response) => response.writeHead(410).end());
    const created = await create({ url: target.url, actions: ['entity.*'] });
    const before = head();
    await createEntity(app);
    await createEntity(app);
    await until(async () => (await send(app, 'GET', path(created))).body.status === 'failing');
    target.answering = (response) => response.writeHead(204).end();
    const replayed = await send(app, 'POST', path(created, '/replay'), { body: { after: before + 1 } });
    expect([replayed.status, replayed.body.status]).toEqual([200, 'active']);
    await target.until(2);
    expect(target.sequences).toEqual([before + 1, before + 2]);
    expect((await auditOf(app, created.body.id)).at(-1)).toMatchObject({
      action: 'webhook.updated',
      details: { fields: ['status'] },
    });
  });

  it('are not given up for a failure before a replay that was answered', async () => {
    const target = await endpoint((response, _received, index) => response.writeHead(index === 0 ? 410 : 204).end());
    const created = await create({ url: target.url, actions: ['entity.created'] });
    const before = head();
    const replayed = whenGivenUp(() => send(app, 'POST', path(created, '/replay'), { body: { after: before } }));
    await createEntity(app);
    const { status, body } = await replayed;
    expect([status, body.status]).toEqual([200, 'active']);
    await until(async () => target.received.length === 2);
    expect(target.sequences).toEqual([before + 1, before + 1]);
    expect((await auditOf(app, created.body.id)).map(({ action }) => action)).toEqual(['webhook.created']);
  });

  it('begin their retries anew when they are resumed just as they are given up', async () => {
    const target = await endpoint((response, _received, index) => {
      // The third attempt stays open, so that the failure of the second can be looked at.
      if (index < 2) response.writeHead(index === 0 ? 410 : 503).end();
    });
    const created = await create({ url: target.url, actions: ['entity.created'] });
    const resumed = whenGivenUp(() => send(app, 'POST', path(created, '/resume')));
    await createEntity(app);
    const { status, body } = await resumed;
    expect([status, body.status]).toEqual([200, 'active']);
    const delivery = async (): Promise<Parsed> => (await send(app, 'GET', path(created))).body.delivery;
    await until(async () => (await delivery()).lastStatus === 503);
    const { lastAttemptAt, nextAttemptAt } = await delivery();
    // A first failure is retried after a second, give or take a tenth; a second one after two.
    expect(Date.parse(nextAttemptAt) - Date.parse(lastAttemptAt)).toBeLessThanOrEqual(1_100);
    expect((await auditOf(app, created.body.id)).map(({ action }) => action)).toEqual(['webhook.created']);
  });

  it('are tried at once when they are resumed during their first attempt, which then counts for nothing', async () => {
    const target = await endpoint(() => undefined);
    const created = await create({ url: target.url, actions: ['entity.created'] });
    await createEntity(app);
    await target.until(1);
    expect((await send(app, 'POST', path(created, '/resume'))).status).toBe(200);
    await target.until(2);
    // No failure was written.
    expect((await send(app, 'GET', path(created))).body.delivery.lastAttemptAt).toBeNull();
  });

  it('are signed with the two newest secrets after a rotation', async () => {
    const target = await endpoint();
    const created = await create({ url: target.url, actions: ['entity.*'] });
    const rotate = (headers = {}): Promise<Answer> => send(app, 'POST', path(created, '/rotate-secret'), { headers });
    // Whoever repeated the request would get the secret once more.
    expect(Object.keys(faults(await rotate({ 'Idempotency-Key': 'x' })))).toEqual(['header.Idempotency-Key']);
    const second = await rotate();
    expect(second.body.secret).not.toBe(created.body.secret);
    const third = await rotate();
    await createEntity(app);
    await target.until(1);
    const [received] = target.received;
    if (received === undefined) throw new Error('Nothing was received.');
    const signing = [third, second].map(({ body }) => signatureBy(body.secret, received));
    expect(received.signature).toBe(signing.join(' '));
    expect((await auditOf(app, created.body.id)).at(-1)).toMatchObject({
      action: 'webhook.updated',
      details: { fields: ['secret'] },
    });
  });

  it('can be tested without a trace', async () => {
    const target = await endpoint((response) => response.writeHead(302, { Location: 'http://127.0.0.1:9/' }).end());
    const created = await create({ url: target.url, actions: ['none'] });
    const entries = head();
    const tried = await send(app, 'POST', path(created, '/test'));
    expect([tried.status, tried.body]).toEqual([200, { status: 302, durationMs: expect.any(Number) }]);
    expect(target.received[0]?.body).toEqual({ type: 'webhook.test', timestamp: expect.any(String), data: {} });
    expect(head()).toBe(entries);
    expect((await send(app, 'GET', path(created))).body.delivery.lastAttemptAt).toBeNull();
    // Redirects are not followed, and only a bounded part of an endless answer is read.
    target.answering = (response) => {
      response.writeHead(200);
      const endless = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        if (!response.destroyed) response.once('drain', endless);
      };
      endless();
    };
    expect((await send(app, 'POST', path(created, '/test'))).body.status).toBe(200);
  });

  it('are not delivered if their host name resolves to a private address', async () => {
    const target = await endpoint();
    const port = new URL(target.url).port;
    const strict = await createTestApp({ environment: { WEBHOOK_ALLOW_HTTP: 'true' } });
    const body = { url: `http://localhost:${port}/`, actions: ['*'] };
    const { id } = (await send(strict, 'POST', WEBHOOKS, { body })).body;
    const tried = await send(strict, 'POST', `${WEBHOOKS}/${id}/test`);
    expect(tried.body).toEqual({ status: null, durationMs: expect.any(Number) });
    await strict.close();
    expect(target.received).toEqual([]);
  });

  it('are delivered over plain HTTP only as long as that is allowed', async () => {
    const database = await temporaryDatabase();
    const plain = await createTestApp({ environment: { ...DELIVERING, ...database.environment } });
    const target = await endpoint();
    const created = await send(plain, 'POST', WEBHOOKS, { body: { url: target.url, actions: ['*'] } });
    await plain.close();
    const strict = await createTestApp({
      environment: { ...DELIVERING, ...database.environment, WEBHOOK_ALLOW_HTTP: 'false' },
    });
    expect((await send(strict, 'POST', path(created, '/test'))).body.status).toBeNull();
    await createEntity(strict);
    await until(async () => (await send(strict, 'GET', path(created))).body.delivery.lastAttemptAt !== null);
    await strict.close();
    await database.remove();
    expect(target.received).toEqual([]);
  });

  it('receive nothing twice whose confirmation comes while the service stops', async () => {
    const database = await temporaryDatabase();
    const environment = { ...DELIVERING, ...database.environment };
    const target = await endpoint();
    let confirm = (): void => undefined;
    target.answering = (response) => (confirm = () => response.writeHead(204).end());
    const first = await createTestApp({ environment });
    await send(first, 'POST', WEBHOOKS, { body: { url: target.url, actions: ['entity.created'] } });
    const { id: firstId } = await createEntity(first);
    await target.until(1);
    const dispatcher = first.application.get(WebhookDispatcher);
    const destroy = dispatcher.onModuleDestroy.bind(dispatcher);
    jest.spyOn(dispatcher, 'onModuleDestroy').mockImplementationOnce(() => {
      const destroyed = destroy();
      confirm();
      return destroyed;
    });
    await first.close();
    target.answering = (response) => response.writeHead(204).end();
    const second = await createTestApp({ environment });
    const { id: secondId } = await createEntity(second);
    await target.until(2);
    await second.close();
    await database.remove();
    expect(target.received.map(({ body }) => body.data.subjectId)).toEqual([firstId, secondId]);
  });

  it('receive nothing more once they are deleted', async () => {
    const target = await endpoint();
    const created = await create({ url: target.url, actions: ['entity.*'] });
    await createEntity(app);
    await target.until(1);
    expect((await send(app, 'DELETE', path(created))).status).toBe(204);
    await createEntity(app);
    expect((await send(app, 'GET', path(created))).status).toBe(404);
    expect((await auditOf(app, created.body.id)).at(-1)?.action).toBe('webhook.deleted');
    expect(target.received).toHaveLength(1);
  });
});
