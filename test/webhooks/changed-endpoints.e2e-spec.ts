import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerService } from '../../src/ledger/ledger.service';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, createAgent, createEntity } from '../support/application/factories';
import { type Answer, type Parsed, send } from '../support/application/send';
import { type DeliveryHandler, WebhookEndpoint } from '../support/application/webhook-endpoint';
import { foreignConnection } from '../support/database/foreign-connection';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const WEBHOOKS = '/api/v1/webhooks';
const DELIVERING = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', RATE_LIMIT: '1000000' };
const FOUR_DAYS = 4 * 24 * 3_600_000;

const confirmed: DeliveryHandler = (response) => response.writeHead(204).end();
/** Longer than a test may take. */
const later: DeliveryHandler = (response) => response.writeHead(503, { 'Retry-After': '3000' }).end();
const secondTime: DeliveryHandler = (response, _received, index) => response.writeHead(index === 0 ? 503 : 204).end();

describe('The failures of an endpoint', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let failing: WebhookEndpoint;
  let path: string;
  let entityId: string;
  const endpoints: WebhookEndpoint[] = [];

  /** An endpoint of `entity.*` that waits to be tried again. */
  beforeEach(async () => {
    database = await temporaryDatabase();
    await start();
    failing = await endpoint(later);
    const { body } = await send(app, 'POST', WEBHOOKS, { body: { url: failing.url, actions: ['entity.*'] } });
    path = `${WEBHOOKS}/${body.id}`;
    entityId = (await createEntity(app)).id;
    await until(async () => (await delivery()).nextAttemptAt !== null);
  });
  afterEach(async () => {
    await app.close();
    await database.remove();
    await Promise.all(endpoints.splice(0).map((each) => each.close()));
  });

  async function start(): Promise<void> {
    app = await createTestApp({ environment: { ...DELIVERING, ...database.environment } });
  }

  async function endpoint(answering: DeliveryHandler): Promise<WebhookEndpoint> {
    const started = await WebhookEndpoint.start(answering);
    endpoints.push(started);
    return started;
  }

  function change(body: object): Promise<Answer> {
    return send(app, 'PATCH', path, { body });
  }

  async function delivery(): Promise<Parsed> {
    return (await send(app, 'GET', path)).body.delivery;
  }

  async function until(isTrue: () => Promise<boolean>): Promise<void> {
    for (let looks = 0; looks < 1_000 && !(await isTrue()); looks += 1) await sleep(20);
    expect(await isTrue()).toBe(true);
  }

  async function replayAfterHead(): Promise<void> {
    const { sequence: after } = app.application.get(LedgerService).head;
    expect((await send(app, 'POST', `${path}/replay`, { body: { after } })).status).toBe(200);
  }

  /** Four days pass, in which the service is down. */
  async function fourDaysPass(): Promise<void> {
    const foreign = await foreignConnection(app);
    await app.close();
    const since = `'${new Date(Date.now() - FOUR_DAYS).toISOString()}'`;
    await foreign.run(`UPDATE "webhook_standings" SET "failingSince" = ${since}`);
    await foreign.close();
    await start();
  }

  async function statusesInAudit(): Promise<string[]> {
    const id = path.split('/').at(-1) ?? '';
    return (await auditOf(app, id)).map(({ action }) => action);
  }

  it('stay those of the next entry when the filter changes, which applies to later ones', async () => {
    const before = await delivery();
    await change({ actions: ['agent.*'] });
    const { id } = await createAgent(app, { name: 'later' });
    expect(await delivery()).toEqual(before);
    failing.answering = confirmed;
    await send(app, 'POST', `${path}/resume`);
    await until(async () => failing.received.length === 3);
    expect(failing.received.map(({ body }) => body.data.subjectId)).toEqual([entityId, entityId, id]);
  });

  it('are forgotten with the entry when a replay passes over it', async () => {
    await replayAfterHead();
    expect((await delivery()).nextAttemptAt).toBeNull();
    failing.answering = confirmed;
    const { id } = await createEntity(app);
    await until(async () => failing.received.length === 2);
    expect(failing.received.map(({ body }) => body.data.subjectId)).toEqual([entityId, id]);
  });

  it('leave nothing to retry once the entry is delivered, though the webhook is resumed', async () => {
    failing.answering = confirmed;
    const resume = (): Promise<Answer> => send(app, 'POST', `${path}/resume`);
    await resume();
    await until(async () => (await delivery()).lastStatus === 204);
    const before = await delivery();
    await resume();
    expect(await delivery()).toEqual(before);
  });

  it('do not count against the first attempt of another entry', async () => {
    await fourDaysPass();
    const target = failing.received.length;
    failing.answering = (response, _received, index) => response.writeHead(index === target ? 503 : 204).end();
    await replayAfterHead();
    const { id } = await createEntity(app);
    await until(
      async () => failing.received.length > target + 1 || (await send(app, 'GET', path)).body.status !== 'active',
    );
    expect(await statusesInAudit()).toEqual(['webhook.created']);
    expect(failing.received.slice(target).map(({ body }) => body.data.subjectId)).toEqual([id, id]);
  });

  it('are those of its URL: a new one is tried at once, and for three days', async () => {
    await fourDaysPass();
    const target = await endpoint(secondTime);
    await change({ url: target.url });
    await until(async () => target.received.length > 1 || (await send(app, 'GET', path)).body.status !== 'active');
    expect(await statusesInAudit()).toEqual(['webhook.created', 'webhook.updated']);
    expect(target.received.map(({ body }) => body.data.subjectId)).toEqual([entityId, entityId]);
  });

  it('do not give up its new URL when the old one answers that it is gone', async () => {
    const [old, target] = [await endpoint(confirmed), await endpoint(confirmed)];
    const held = new Promise<ServerResponse>((resolve) => (old.answering = resolve));
    await change({ url: old.url });
    const response = await held;
    await change({ url: target.url });
    response.writeHead(410).end();
    await until(async () => target.received.length > 0 || (await send(app, 'GET', path)).body.status !== 'active');
    expect(await statusesInAudit()).toEqual(['webhook.created', 'webhook.updated', 'webhook.updated']);
    expect(target.received.map(({ body }) => body.data.subjectId)).toEqual([entityId]);
  });

  it('are kept when only the description changes', async () => {
    const before = await delivery();
    await change({ description: 'still waiting' });
    await send(app, 'POST', `${path}/test`);
    expect(await delivery()).toEqual(before);
  });
});
