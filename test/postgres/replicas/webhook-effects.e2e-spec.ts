import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseFault } from '../../../src/ledger/database/database-fault';
import { PostgresConnection } from '../../../src/ledger/database/postgres/postgres-connection';
import type { SqlConnection } from '../../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createEntity, issueKey } from '../../support/application/factories';
import { send, type Answer, type Parsed } from '../../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { signatureBy, type DeliveryHandler, WebhookEndpoint } from '../../support/application/webhook-endpoint';

const WEBHOOKS = '/api/v1/webhooks';
const ALLOWED = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', RATE_LIMIT: '1000000' };
/** Replicas also poll: in some rounds a poll would happen to come first. */
const ROUNDS = 5;

const confirmed: DeliveryHandler = (response) => response.writeHead(204).end();
const waiting: DeliveryHandler = (response) => response.writeHead(503, { 'Retry-After': '3000' }).end();

/** The session of the next COMMIT is lost, after that took effect or before it could; then something else happens. */
function loseNextCommit(isDone: boolean, meanwhile: () => Promise<unknown> = async () => undefined): void {
  const spy = jest.spyOn(PostgresConnection.prototype, 'commit');
  spy.mockImplementation(async function (this: SqlConnection) {
    spy.mockRestore();
    await (isDone ? this.commit() : this.run('ROLLBACK'));
    await meanwhile();
    throw new DatabaseFault('unavailable', 'CONNECTION', 'Connection terminated unexpectedly');
  });
}

describe('What a caller has a webhook do at one of two replicas', () => {
  let database: TemporaryDatabase;
  let here: TestApp;
  let there: TestApp;
  const endpoints: WebhookEndpoint[] = [];

  beforeAll(async () => {
    database = await temporaryDatabase();
    const start = (): Promise<TestApp> => createTestApp({ environment: { ...database.environment, ...ALLOWED } });
    [here, there] = [await start(), await start()];
  });
  afterEach(() => Promise.all(endpoints.splice(0).map((endpoint) => endpoint.close())));
  afterAll(async () => {
    await Promise.all([here.close(), there.close()]);
    await database.remove();
  });

  /** The path of a new webhook that receives new entities. */
  async function create(answering: DeliveryHandler): Promise<[string, WebhookEndpoint]> {
    const endpoint = await WebhookEndpoint.start(answering);
    endpoints.push(endpoint);
    const { body } = await send(here, 'POST', WEBHOOKS, { body: { url: endpoint.url, actions: ['entity.created'] } });
    return [`${WEBHOOKS}/${body.id}`, endpoint];
  }

  async function delivery(path: string): Promise<Parsed> {
    return (await send(here, 'GET', path)).body.delivery;
  }

  it.each([
    ['test', {}],
    ['replay', { after: 0 }],
    ['resume', {}],
  ] as const)('is no %s by a key that was revoked at the other just before', async (verb, body) => {
    const [path, target] = await create(waiting);
    await createEntity(here);
    while ((await delivery(path)).nextAttemptAt === null) await sleep(20);
    const before = await delivery(path);
    for (let round = 0; round < ROUNDS; round += 1) {
      const { id, secret: key } = await issueKey(here, { scopes: ['admin'] });
      expect((await send(there, 'GET', path, { key })).status).toBe(200);
      await send(here, 'POST', `/api/v1/api-keys/${id}/revoke`);
      expect((await send(there, 'POST', `${path}/${verb}`, { key, body })).status).toBe(401);
    }
    expect(await delivery(path)).toEqual(before);
    expect(target.received).toHaveLength(1);
  });

  it.each([
    [200, true],
    [503, false],
  ])('is answered with %i when the answer of its COMMIT is lost, which took effect: %p', async (status, isDone) => {
    const [path] = await create(waiting);
    const { sequence } = await delivery(path);
    loseNextCommit(isDone);
    expect((await send(here, 'POST', `${path}/replay`, { body: { after: sequence - 1 } })).status).toBe(status);
    expect((await delivery(path)).sequence).toBe(isDone ? sequence - 1 : sequence);
  });

  it('is no replay when its COMMIT is lost and the other resumes the webhook in its place', async () => {
    const [path] = await create(waiting);
    const { sequence } = await delivery(path);
    // Nothing is written in between, so a position alone would not tell one replay from another.
    expect((await send(here, 'POST', `${path}/replay`, { body: { after: sequence } })).status).toBe(200);
    loseNextCommit(false, () => send(there, 'POST', `${path}/resume`));
    expect((await send(here, 'POST', `${path}/replay`, { body: { after: sequence - 1 } })).status).toBe(503);
    expect((await delivery(path)).sequence).toBe(sequence);
  });

  describe('is known when what was written afterwards is delivered by either:', () => {
    /** Whichever delivers: each is asked for the change, and then for entries, one of which the old filter chooses. */
    async function changed(path: string, app: TestApp, change: (path: string) => Promise<Answer>): Promise<void> {
      await createEntity(here);
      expect((await change(path)).status).toBeLessThan(300);
      await createAgent(app, { name: crypto.randomUUID() });
      await createEntity(app);
    }

    it.each(['here', 'there'] as const)('a wider filter, set %s', async (where) => {
      const app = where === 'here' ? here : there;
      const [path, target] = await create(confirmed);
      await changed(path, app, () => send(app, 'PATCH', path, { body: { actions: ['entity.created', 'agent.*'] } }));
      await target.until(3);
      const types = target.received.map(({ body }) => body.type);
      expect(types).toEqual(['entity.created', 'agent.created', 'entity.created']);
    });

    it.each(['here', 'there'] as const)('another URL, set %s', async (where) => {
      const app = where === 'here' ? here : there;
      const [path, old] = await create(confirmed);
      const moved = await WebhookEndpoint.start(confirmed);
      endpoints.push(moved);
      await changed(path, app, async () => {
        await old.until(1);
        return send(app, 'PATCH', path, { body: { url: moved.url } });
      });
      await moved.until(1);
      expect([old.received.length, moved.received.length]).toEqual([1, 1]);
    });

    it.each(['here', 'there'] as const)('the newest secrets, made %s', async (where) => {
      const app = where === 'here' ? here : there;
      const [path, target] = await create(confirmed);
      const secrets: string[] = [];
      const rotate = async (): Promise<Answer> => {
        const answer = await send(app, 'POST', `${path}/rotate-secret`);
        secrets.unshift(answer.body.secret);
        return answer;
      };
      await changed(path, app, async () => {
        await rotate();
        return rotate();
      });
      await target.until(2);
      const [, received] = target.received;
      if (received === undefined) throw new Error('Nothing was received.');
      expect(received.signature).toBe(secrets.map((secret) => signatureBy(secret, received)).join(' '));
    });

    it.each(['here', 'there'] as const)('that it was deleted, %s', async (where) => {
      const app = where === 'here' ? here : there;
      const [[path, target], [, other]] = [await create(confirmed), await create(confirmed)];
      await changed(path, app, async () => {
        await target.until(1);
        return send(app, 'DELETE', path);
      });
      await other.until(2);
      expect(target.received).toHaveLength(1);
    });
  });
});
