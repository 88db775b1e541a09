import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEntity } from '../support/application/factories';
import { ROOT } from '../support/documents/markdown';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { WebhookEndpoint } from '../support/application/webhook-endpoint';

const MAIN = join(ROOT, 'dist', 'main.js');
/** Five times the 15 seconds within which another replica delivers. */
const PATIENCE = 75_000;

describe('Of two replicas, one of which delivers webhooks,', () => {
  let database: TemporaryDatabase;
  let endpoint: WebhookEndpoint;
  let replicas: readonly [StartedProgram, StartedProgram];

  beforeAll(async () => {
    database = await temporaryDatabase();
    const allowed = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', RATE_LIMIT: '1000000' };
    const environment = { ...database.environment, ...allowed, LOG_LEVEL: 'fatal' };
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
