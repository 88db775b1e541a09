import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { EntryReader } from '../../../src/ledger/reading/entry-reader';
import { DeliveryLease } from '../../../src/evidence/webhooks/delivery/delivery-lease';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createEntity } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { ROOT } from '../../support/documents/markdown';
import { startProgram, type StartedProgram } from '../../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { WebhookEndpoint } from '../../support/application/webhook-endpoint';

const MAIN = join(ROOT, 'dist', 'main.js');
/** Five times the 15 seconds within which another replica delivers. */
const PATIENCE = 75_000;
const ALLOWED = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', RATE_LIMIT: '1000000' };
/** More than a replica may repeat. */
const MEANWHILE = 20;

describe('Of two replicas, one of which delivers webhooks,', () => {
  let database: TemporaryDatabase;
  let endpoint: WebhookEndpoint;
  let replicas: readonly [StartedProgram, StartedProgram];

  beforeAll(async () => {
    database = await temporaryDatabase();
    const environment = { ...database.environment, ...ALLOWED, LOG_LEVEL: 'fatal' };
    replicas = [await startProgram(MAIN, environment), await startProgram(MAIN, environment)];
    endpoint = await WebhookEndpoint.start();
    const body = { url: endpoint.url, actions: ['entity.created'] };
    expect((await replicas[0].send('POST', '/api/v1/webhooks', { body })).status).toBe(201);
  });
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop('SIGKILL')));
    await endpoint.close();
    await database.remove();
  });

  /** Writes through one replica, and waits for the delivery. */
  async function deliveredFrom(replica: StartedProgram): Promise<void> {
    const { id } = await createEntity(replica);
    const end = performance.now() + PATIENCE;
    const isThere = (): boolean => endpoint.received.some(({ body }) => body.data.subjectId === id);
    while (!isThere() && performance.now() < end) await sleep(50);
    expect(isThere()).toBe(true);
  }

  it(
    'another takes over from one that hangs or dies, and the one that is back delivers nothing',
    async () => {
      const [first, second] = replicas;
      await deliveredFrom(first);
      // Whichever holds the lease: each hangs once.
      for (const [hung, other] of [
        [first, second],
        [second, first],
      ] as const) {
        hung.process.kill('SIGSTOP');
        await deliveredFrom(other);
        hung.process.kill('SIGCONT');
        await deliveredFrom(hung);
      }
      first.process.kill('SIGKILL');
      await deliveredFrom(second);
      const { sequences } = endpoint;
      const inOrder = [...sequences].sort((left, right) => left - right);
      expect(sequences).toEqual(inOrder);
      // Each of the three that were delayed may have been on its way.
      expect(sequences.length - new Set(sequences).size).toBeLessThanOrEqual(3);
    },
    6 * PATIENCE,
  );
});

describe('A replica that gets the lease after a hang, when another has delivered and is gone,', () => {
  let database: TemporaryDatabase;
  let endpoint: WebhookEndpoint;
  let running: TestApp[];
  let goOn: () => void;

  beforeEach(async () => {
    database = await temporaryDatabase();
    endpoint = await WebhookEndpoint.start();
    running = [];
    goOn = () => undefined;
  });
  afterEach(async () => {
    goOn();
    jest.restoreAllMocks();
    await Promise.all(running.map((app) => app.close()));
    await endpoint.close();
    await database.remove();
  });

  async function start(): Promise<TestApp> {
    const app = await createTestApp({ environment: { ...database.environment, ...ALLOWED } });
    running.push(app);
    return app;
  }

  async function startDelivering(): Promise<TestApp> {
    const app = await start();
    const body = { url: endpoint.url, actions: ['entity.created'] };
    expect((await send(app, 'POST', '/api/v1/webhooks', { body })).status).toBe(201);
    await createEntity(app);
    await endpoint.until(1);
    return app;
  }

  async function stop(app: TestApp): Promise<void> {
    running.splice(running.indexOf(app), 1);
    await app.close();
  }

  /** Delivered by the other one, which then ends; afterwards the one that hung delivers one more. */
  async function deliveredOnceBy(other: TestApp, hung: TestApp): Promise<void> {
    for (let made = 0; made < MEANWHILE; made += 1) await createEntity(other);
    await endpoint.until(1 + MEANWHILE);
    await stop(other);
    goOn();
    const { id } = await createEntity(hung);
    const isThere = (): boolean => endpoint.received.some(({ body }) => body.data.subjectId === id);
    const end = performance.now() + PATIENCE;
    while (!isThere() && performance.now() < end) await sleep(50);
    expect(endpoint.sequences).toEqual([...new Set(endpoint.sequences)].sort((left, right) => left - right));
    expect(endpoint.sequences).toHaveLength(2 + MEANWHILE);
  }

  it('does not continue the deliveries that it had begun before', async () => {
    const hung = await startDelivering();
    const lease = hung.application.get(DeliveryLease);
    const entries = hung.application.get(EntryReader);
    const [hold, page] = [lease.hold.bind(lease), entries.page.bind(entries)];
    let isReachable = false;
    goOn = () => (isReachable = true);
    const isBack = new Promise<void>((resolve) => {
      jest.spyOn(lease, 'hold').mockImplementation(async () => {
        if (!isReachable) throw new Error('The database cannot be reached.');
        return hold().finally(resolve);
      });
    });
    // Entries that were written meanwhile reach those deliveries right after the lease.
    jest.spyOn(entries, 'page').mockImplementation(async (request) => {
      await isBack.then(() => nextTurn());
      return page(request);
    });
    await deliveredOnceBy(await start(), hung);
  });

  it('does not begin at positions that it had read before', async () => {
    const other = await startDelivering();
    const healthy = other.application.get(DeliveryLease);
    const hold: () => Promise<number | null> = Reflect.get(DeliveryLease.prototype, 'hold');
    const isBack = new Promise<void>((resolve) => (goOn = resolve));
    const hangs = new Promise<void>((resolve) => {
      const holdLease = async function (this: DeliveryLease): Promise<number | null> {
        if (this !== healthy) {
          resolve();
          await isBack;
        }
        return hold.call(this);
      };
      jest.spyOn(DeliveryLease.prototype, 'hold').mockImplementation(holdLease);
    });
    const hung = await start();
    await hangs;
    await deliveredOnceBy(other, hung);
  });
});
