import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createEntity } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { WebhookEndpoint } from '../../support/application/webhook-endpoint';
import { temporaryDatabase } from '../../support/database/temporary-database';

const DAY = 86_400_000;
const TIMERS = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'nextTick',
  'queueMicrotask',
  'performance',
  'hrtime',
] as const;
const OTHERS = ['clearTimeout', 'clearInterval', 'clearImmediate'] as const;

describe('A replica whose clock is a day ahead', () => {
  afterEach(() => jest.useRealTimers());

  it('leaves a delivery that failed to another one, which repeats it in time', async () => {
    const database = await temporaryDatabase();
    const endpoint = await WebhookEndpoint.start((response) => response.writeHead(503).end());
    const environment = { ...database.environment, WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true' };
    const start = (): Promise<TestApp> => createTestApp({ environment });
    jest.useFakeTimers({ now: Date.now() + DAY, advanceTimers: true, doNotFake: [...TIMERS, ...OTHERS] });
    const ahead = await start();
    const body = { url: endpoint.url, actions: ['entity.created'] };
    const { id } = (await send(ahead, 'POST', '/api/v1/webhooks', { body })).body;
    await createEntity(ahead);
    await endpoint.until(1);
    const delivery = async (at: TestApp) => (await send(at, 'GET', `/api/v1/webhooks/${id}`)).body.delivery;
    while ((await delivery(ahead)).nextAttemptAt === null) await sleep(20);
    await ahead.close();
    jest.useRealTimers();

    endpoint.answering = (response) => response.writeHead(204).end();
    const other = await start();
    const failed = endpoint.received.length;
    for (let looks = 0; looks < 400 && endpoint.received.length === failed; looks += 1) await sleep(50);
    expect(endpoint.received.length).toBeGreaterThan(failed);
    await other.close();
    await endpoint.close();
    await database.remove();
  });
});
