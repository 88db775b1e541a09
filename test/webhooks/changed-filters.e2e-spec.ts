import { LedgerService } from '../../src/ledger/ledger.service';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createEntity } from '../support/application/factories';
import { send, type Answer } from '../support/application/send';
import { type DeliveryHandler, WebhookEndpoint } from '../support/application/webhook-endpoint';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const WEBHOOKS = '/api/v1/webhooks';
const DELIVERING = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', RATE_LIMIT: '1000000' };
/** More than are held in memory for an endpoint, and than are read at once. */
const MANY = 300;
const AT_ONCE = 50;

const confirmed: DeliveryHandler = (response) => response.writeHead(204).end();
/** Longer than a test may take. */
const later: DeliveryHandler = (response) => response.writeHead(503, { 'Retry-After': '3000' }).end();

describe('Each entry is chosen by the filter in force when it was written', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let endpoint: WebhookEndpoint;
  let path: string;
  let agents: number;

  beforeEach(async () => {
    agents = 0;
    database = await temporaryDatabase();
    endpoint = await WebhookEndpoint.start();
    await start();
  });
  afterEach(async () => {
    await app.close();
    await endpoint.close();
    await database.remove();
  });

  async function start(): Promise<void> {
    app = await createTestApp({ environment: { ...DELIVERING, ...database.environment } });
  }

  async function create(actions: readonly string[]): Promise<void> {
    const { body } = await send(app, 'POST', WEBHOOKS, { body: { url: endpoint.url, actions } });
    path = `${WEBHOOKS}/${body.id}`;
  }

  function change(body: object): Promise<Answer> {
    return send(app, 'PATCH', path, { body });
  }

  function replay(after: number): Promise<Answer> {
    return send(app, 'POST', `${path}/replay`, { body: { after } });
  }

  async function entity(): Promise<number> {
    await createEntity(app);
    return head();
  }

  async function entities(count: number): Promise<void> {
    for (let made = 0; made < count; made += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, () => createEntity(app)));
    }
  }

  async function agent(): Promise<number> {
    agents += 1;
    await createAgent(app, { name: `agent ${agents}` });
    return head();
  }

  function head(): number {
    return app.application.get(LedgerService).head.sequence;
  }

  /** The entries that arrive until one that is made now, which the filter chooses. */
  async function untilNew(make: () => Promise<number>): Promise<readonly number[]> {
    const last = await make();
    for (let count = 1; endpoint.sequences.at(-1) !== last; count += 1) await endpoint.until(count);
    return endpoint.sequences;
  }

  it('so that a wider one brings none of before', async () => {
    await create(['none']);
    await entity();
    await agent();
    await change({ actions: ['entity.*', 'agent.*'] });
    const next = await agent();
    expect(await untilNew(entity)).toEqual([next, head()]);
  });

  it('so that what waits is delivered as before, with all that was written since by each filter', async () => {
    endpoint.answering = later;
    await create(['entity.*']);
    const first = await entity();
    await endpoint.until(1);
    await agent();
    await change({ actions: ['agent.*'] });
    await entity();
    const second = await agent();
    await change({ actions: ['entity.*', 'agent.*'] });
    const others = [await entity(), await agent()];
    await change({ actions: ['agent.*', 'webhook.*'] });
    await entity();
    await change({ actions: ['agent.*'] });
    const changed = head();
    endpoint.answering = confirmed;
    await send(app, 'POST', `${path}/resume`);
    // The entry of a change is chosen by the filter before.
    expect(await untilNew(agent)).toEqual([first, first, second, ...others, changed, head()]);
  });

  it('even if the service ends before they are delivered', async () => {
    endpoint.answering = later;
    await create(['entity.*']);
    const first = await entity();
    await agent();
    await endpoint.until(1);
    await change({ actions: ['agent.*'] });
    const second = await agent();
    await app.close();
    endpoint.answering = confirmed;
    await start();
    await send(app, 'POST', `${path}/resume`);
    await entity();
    expect(await untilNew(agent)).toEqual([first, first, second, head()]);
  });

  it('of an agent, too, with any number of entries to deliver', async () => {
    endpoint.answering = later;
    await create(['entity.*']);
    const before = head();
    await entities(MANY);
    const { id } = await createAgent(app, { name: 'followed' });
    await change({ actions: ['agent.*'], agentId: id });
    await entities(MANY);
    await agent();
    endpoint.answering = confirmed;
    await send(app, 'POST', `${path}/resume`);
    const suspend = async (): Promise<number> => {
      await send(app, 'POST', `/api/v1/agents/${id}/suspend`);
      return head();
    };
    const received = [...new Set(await untilNew(suspend))];
    expect(received).toEqual([...Array.from({ length: MANY }, (_, index) => before + index + 1), head()]);
  });

  it('and by the one of a replay when they are replayed', async () => {
    const before = head();
    const [first, second] = [await entity(), await entity()];
    endpoint.answering = later;
    await create(['none']);
    await agent();
    const third = await entity();
    await change({ actions: ['entity.*'] });
    await replay(before);
    await endpoint.until(1);
    await change({ actions: ['agent.*'] });
    await entity();
    endpoint.answering = confirmed;
    await send(app, 'POST', `${path}/resume`);
    expect(await untilNew(agent)).toEqual([first, first, second, third, head()]);
  });
});
