import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';

describe('An entity', () => {
  let app: TestApp;
  beforeAll(async () => (app = await createTestApp()));
  afterAll(() => app.close());

  it('is returned as it was created', async () => {
    const sent = { type: 'customer', name: 'Example Ltd' };
    expect(await send(app, 'POST', '/api/v1/entities', { body: sent })).toMatchObject({ status: 201, body: sent });
  });
});
