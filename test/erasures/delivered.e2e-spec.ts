import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createEntity } from '../support/application/factories';
import { erase } from '../support/application/erase';
import { send } from '../support/application/send';
import { WebhookEndpoint } from '../support/application/webhook-endpoint';

const ENVIRONMENT = {
  WEBHOOK_ALLOW_HTTP: 'true',
  WEBHOOK_ALLOW_PRIVATE: 'true',
  RETAIN_AT_LEAST: 'PT0S',
};
/** Seconds in which the entity is erased, while its entry waits for delivery. */
const PAUSE = '3';

describe('What was erased before it was delivered', () => {
  let app: TestApp;
  let endpoint: WebhookEndpoint;

  beforeAll(async () => {
    app = await createTestApp({ environment: ENVIRONMENT });
  });
  afterEach(() => endpoint.close());
  afterAll(() => app.close());

  it.each([
    ['the first attempt of which failed', 0],
    ['that waited behind one that failed', 1],
  ])('is not in the retry of an entry %s', async (_, place) => {
    endpoint = await WebhookEndpoint.start((response, _received, index) => {
      if (index > 0) response.writeHead(204).end();
      else response.writeHead(503, { 'Retry-After': PAUSE }).end();
    });
    const webhook = { url: endpoint.url, actions: ['entity.created'] };
    const { id } = (await send(app, 'POST', '/api/v1/webhooks', { body: webhook })).body;
    const entities = [await createEntity(app), await createEntity(app)];
    await endpoint.until(1);
    await erase(app, { type: 'entity', id: String(entities[place]?.id) });
    await endpoint.until(3);
    await send(app, 'DELETE', `/api/v1/webhooks/${id}`);
    const delivered = endpoint.received.slice(1).map(({ body }) => body.data);
    expect(delivered.map(({ entityId }) => entityId)).toEqual(entities.map((entity) => entity.id));
    expect(endpoint.received[0]?.body.data).toMatchObject({ requestId: expect.any(String) });
    expect(delivered[place]).toMatchObject({ details: null, ip: null, requestId: null });
    expect(delivered[1 - place]).toMatchObject({ requestId: expect.any(String) });
  });
});
