import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerService } from '../../src/ledger/ledger.service';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createEntity, issueKey } from '../support/application/factories';
import { isReplayed, send, type Answer, type Parsed } from '../support/application/send';
import { type DeliveryHandler, WebhookEndpoint } from '../support/application/webhook-endpoint';

const WEBHOOKS = '/api/v1/webhooks';
const DELIVERING = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', RATE_LIMIT: '1000000' };
/** Milliseconds in which the head of a request is read. */
const HEAD_READ = 300;

const waiting: DeliveryHandler = (response) => response.writeHead(503, { 'Retry-After': '3000' }).end();

describe('What a caller has a webhook do', () => {
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
  afterAll(() => app.close());

  async function endpoint(answering?: DeliveryHandler): Promise<WebhookEndpoint> {
    const started = await WebhookEndpoint.start(answering);
    endpoints.push(started);
    return started;
  }

  /** The path of a new webhook that receives new entities. */
  async function create({ url }: WebhookEndpoint): Promise<string> {
    const { body } = await send(app, 'POST', WEBHOOKS, { body: { url, actions: ['entity.created'] } });
    return `${WEBHOOKS}/${body.id}`;
  }

  async function delivery(path: string): Promise<Parsed> {
    return (await send(app, 'GET', path)).body.delivery;
  }

  async function until(path: string, isTrue: (delivery: Parsed) => boolean): Promise<void> {
    while (!isTrue(await delivery(path))) await sleep(20);
  }

  function head(): number {
    return app.application.get(LedgerService).head.sequence;
  }

  function testsAt({ received }: WebhookEndpoint): number {
    return received.filter(({ body }) => body.type === 'webhook.test').length;
  }

  /** The status of a request whose key is revoked while its body is on its way. */
  async function whileRevoked(path: string, body: string): Promise<number | undefined> {
    const { id, secret } = await issueKey(app, { scopes: ['admin'] });
    const length = Buffer.byteLength(body);
    const headers = { 'X-API-Key': secret, 'Content-Type': 'application/json', 'Content-Length': length };
    const sent = request(`${app.url}${path}`, { method: 'POST', headers });
    const status = new Promise<number | undefined>((resolve, reject) => {
      sent.on('error', reject).on('response', (response) => {
        response.resume();
        resolve(response.statusCode);
      });
    });
    sent.write(body.slice(0, 1));
    await sleep(HEAD_READ);
    expect((await send(app, 'POST', `/api/v1/api-keys/${id}/revoke`)).status).toBe(200);
    sent.end(body.slice(1));
    return status;
  }

  describe('by a key that is revoked while the body is on its way', () => {
    it('is no test', async () => {
      const target = await endpoint();
      const path = await create(target);
      expect(await whileRevoked(`${path}/test`, '{}')).toBe(401);
      expect(target.received).toEqual([]);
    });

    it('is no replay', async () => {
      const target = await endpoint();
      const path = await create(target);
      await createEntity(app);
      await target.until(1);
      await until(path, ({ lastStatus }) => lastStatus === 204);
      expect(await whileRevoked(`${path}/replay`, '{"after":0}')).toBe(401);
      await createEntity(app);
      // Replayed entries would come first.
      await until(path, ({ sequence }) => sequence === head());
      expect(target.sequences).toHaveLength(2);
    });

    it('is no resume', async () => {
      const target = await endpoint(waiting);
      const path = await create(target);
      await createEntity(app);
      await until(path, ({ nextAttemptAt }) => nextAttemptAt !== null);
      const before = await delivery(path);
      expect(await whileRevoked(`${path}/resume`, '{}')).toBe(401);
      expect(await delivery(path)).toEqual(before);
      expect(target.received).toHaveLength(1);
    });
  });

  describe('with one idempotency key', () => {
    function keyed(path: string, key: string, body: object = {}): Promise<Answer> {
      return send(app, 'POST', path, { body, headers: { 'Idempotency-Key': key } });
    }

    it('is a test each time', async () => {
      const target = await endpoint();
      const path = await create(target);
      const answers = [await keyed(`${path}/test`, 'test'), await keyed(`${path}/test`, 'test')];
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers.filter(isReplayed)).toEqual([]);
      expect(testsAt(target)).toBe(2);
    });

    it('is one replay, and none with another body', async () => {
      const target = await endpoint();
      const path = await create(target);
      await createEntity(app);
      const first = head();
      await target.until(1);
      await until(path, ({ lastStatus }) => lastStatus === 204);
      const requests = [head(), 0].map((after) => keyed(`${path}/replay`, 'replay', { after }));
      const statuses = (await Promise.all(requests)).map(({ status }) => status);
      expect([...statuses].sort()).toEqual([200, 409]);
      const isOfHead = statuses[0] === 200;
      await createEntity(app);
      await until(path, ({ sequence }) => sequence === head());
      // Entities of other tests are replayed, too.
      expect(target.sequences.filter((sequence) => sequence === first)).toHaveLength(isOfHead ? 1 : 2);
      expect((await keyed(`${path}/replay`, 'replay', { after: isOfHead ? 0 : head() })).status).toBe(409);
    });

    it('is one replay, however often it is repeated', async () => {
      const target = await endpoint();
      const path = await create(target);
      const after = head();
      await createEntity(app);
      await target.until(1);
      const again = (): Promise<Answer> => keyed(`${path}/replay`, 'repeated', { after });
      const answers = await Promise.all([again(), again(), again()]);
      await target.until(2);
      await until(path, ({ sequence }) => sequence === head());
      answers.push(await again());
      await createEntity(app);
      await until(path, ({ sequence }) => sequence === head());
      expect(target.sequences).toEqual([after + 1, after + 1, after + 2]);
      expect(answers.filter((answer) => !isReplayed(answer))).toHaveLength(1);
    });

    it('is one resume, however often it is repeated', async () => {
      const target = await endpoint(waiting);
      const path = await create(target);
      await createEntity(app);
      await until(path, ({ nextAttemptAt }) => nextAttemptAt !== null);
      const again = (): Promise<Answer> => keyed(`${path}/resume`, 'resume');
      const answers = await Promise.all([again(), again(), again()]);
      await target.until(2);
      // The resume has it tried at once; what came of that is written a moment later.
      await until(path, ({ nextAttemptAt, lastAttemptAt }) => String(nextAttemptAt) > String(lastAttemptAt));
      const before = await delivery(path);
      answers.push(await again());
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(answers.filter((answer) => !isReplayed(answer))).toHaveLength(1);
      expect(await delivery(path)).toEqual(before);
      expect(target.received).toHaveLength(2);
    });
  });
});
