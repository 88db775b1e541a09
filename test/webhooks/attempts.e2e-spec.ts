import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent } from '../support/application/factories';
import { send } from '../support/application/send';
import { type DeliveryHandler, WebhookEndpoint } from '../support/application/webhook-endpoint';
import { describeOnSqlite } from '../support/database/database-kind';
import { foreignConnection } from '../support/database/foreign-connection';
import { temporaryDatabase } from '../support/database/temporary-database';

const WEBHOOKS = '/api/v1/webhooks';
const DELIVERING = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true' };
/** Milliseconds that an attempt may take, and bytes of its answer that are read. */
const MAX_ATTEMPT_MS = 15_000;
const MAX_READ_BYTES = 64 * 1024;
const A_DAY = 24 * 3_600_000;

describeOnSqlite('An attempt to deliver', () => {
  let app: TestApp;
  let logged: string;
  const endpoints: WebhookEndpoint[] = [];

  beforeAll(async () => {
    logged = '';
    app = await createTestApp({ environment: DELIVERING, logStream: { write: (line) => (logged += line) } });
  });
  afterEach(() => Promise.all(endpoints.splice(0).map((endpoint) => endpoint.close())));
  afterAll(() => app.close());

  async function endpoint(answering: DeliveryHandler): Promise<WebhookEndpoint> {
    const started = await WebhookEndpoint.start(answering);
    endpoints.push(started);
    return started;
  }

  async function webhookTo(url: string, at: TestApp = app): Promise<{ path: string; secret: string }> {
    const { status, body } = await send(at, 'POST', WEBHOOKS, { body: { url, actions: ['agent.created'] } });
    expect(status).toBe(201);
    return { path: `${WEBHOOKS}/${body.id}`, secret: body.secret };
  }

  /** Makes one attempt at an endpoint with this handler. */
  async function attemptAt(answering: DeliveryHandler): Promise<{ status: number | null; durationMs: number }> {
    const { path } = await webhookTo((await endpoint(answering)).url);
    return (await send(app, 'POST', `${path}/test`)).body;
  }

  /** An answer with this many bytes, which does not end. */
  const unended =
    (bytes: number): DeliveryHandler =>
    (response) =>
      void response.writeHead(200).write(Buffer.alloc(bytes));

  it('is given up after 15 seconds, and reads 64 KiB of an answer', async () => {
    const limits = jest.spyOn(AbortSignal, 'timeout');
    const [silent, short, long] = await Promise.all([
      attemptAt(() => undefined),
      attemptAt(unended(MAX_READ_BYTES)),
      attemptAt(unended(MAX_READ_BYTES + 1)),
    ]);
    expect([silent.status, short.status, long.status]).toEqual([null, 200, 200]);
    for (const { durationMs } of [silent, short]) {
      // Timers may come a moment early; how late they come depends on the machine.
      expect(durationMs).toBeGreaterThan(MAX_ATTEMPT_MS - 100);
    }
    expect(limits.mock.calls.filter(([limit]) => limit >= MAX_ATTEMPT_MS / 2)).toEqual(
      Array.from({ length: 3 }, () => [MAX_ATTEMPT_MS]),
    );
    limits.mockRestore();
    expect(long.durationMs).toBeLessThan(MAX_ATTEMPT_MS);
  });

  it('whose place can never be written holds up its endpoint with a word in the log, not in silence', async () => {
    const target = await endpoint((response) => response.writeHead(204).end());
    const { path } = await webhookTo(target.url);
    const place = async (): Promise<number> => (await send(app, 'GET', path)).body.delivery.sequence;
    const before = await place();
    const foreign = await foreignConnection(app);
    const refuse = "BEGIN SELECT RAISE(ABORT, 'refused'); END";
    await foreign.run(`CREATE TRIGGER "no_place" BEFORE INSERT ON "webhook_standings" ${refuse}`);
    // The failure of a write shows with the delivery after it.
    for (const name of ['delivered', 'delivered next']) await createAgent(app, { name });
    const heldUp = `Deliveries to ${path.slice(WEBHOOKS.length + 1)} are held up`;
    while (!logged.includes(heldUp)) await sleep(50);
    expect(target.received[0]?.body.data.action).toBe('agent.created');
    expect(await place()).toBe(before);
    await foreign.run('DROP TRIGGER "no_place"');
    await foreign.close();
    while ((await place()) === before) await sleep(50);
  });

  it('leaves neither the URL nor a secret in the log', async () => {
    const target = await endpoint((response) => response.writeHead(500).end());
    const { path, secret } = await webhookTo(`${target.url}/4711?token=hidden-in-the-url`);
    const { secret: next } = (await send(app, 'POST', `${path}/rotate-secret`)).body;
    const closed = await WebhookEndpoint.start();
    await closed.close();
    const { path: gone } = await webhookTo('http://nowhere.invalid/?token=hidden-in-the-url');
    await createAgent(app, { name: 'logged' });
    await target.until(2);
    for (const tried of [path, gone]) await send(app, 'POST', `${tried}/test`);
    await send(app, 'PATCH', path, { body: { url: 'http://user:hidden-password@127.0.0.1/hidden-in-the-url' } });
    await send(app, 'DELETE', path);
    expect(logged).toContain('webhooks');
    for (const hidden of [secret, next, 'hidden-in-the-url', 'hidden-password', 'nowhere.invalid', '/hook'])
      expect([hidden, logged.includes(hidden)]).toEqual([hidden, false]);
  });

  it('is signed by the previous secret for a day, which ends while the service is down, too', async () => {
    const database = await temporaryDatabase();
    const environment = { ...DELIVERING, ...database.environment };
    const target = await endpoint((response) => response.writeHead(204).end());
    const before = await createTestApp({ environment });
    const { path } = await webhookTo(target.url, before);
    const { updatedAt } = (await send(before, 'POST', `${path}/rotate-secret`)).body;
    await createAgent(before, { name: 'today' });
    await target.until(1);
    const foreign = await foreignConnection(before);
    const [row] = await foreign.all<{ secrets: string }>('SELECT "secrets" FROM "webhooks"');
    const [newest, previous] = JSON.parse(row?.secrets ?? '');
    expect([newest.until, Date.parse(previous.until)]).toEqual([null, Date.parse(updatedAt) + A_DAY]);
    await before.close();
    // A day passes.
    const until = new Date(Date.parse(updatedAt) - 1).toISOString();
    await foreign.run('UPDATE "webhooks" SET "secrets" = ?', [JSON.stringify([newest, { ...previous, until }])]);
    await foreign.close();
    const after = await createTestApp({ environment });
    await createAgent(after, { name: 'tomorrow' });
    await target.until(2);
    await after.close();
    await database.remove();
    expect(target.received.map(({ signature }) => signature.split(' ').length)).toEqual([2, 1]);
  });
});
