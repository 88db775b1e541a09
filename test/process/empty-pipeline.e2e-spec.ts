import type { NestExpressApplication } from '@nestjs/platform-express';
import { createEmptyPipeline } from '../../bench/http/create-empty-pipeline';
import { sendRequest } from '../../src/program/testing/send';

const KEY = 'a-key-of-the-benchmark';

/** A guard that needs a further provider would end the benchmark at its start. */
describe('The pipeline without modules, which the benchmark measures', () => {
  let application: NestExpressApplication;

  beforeAll(async () => {
    application = await createEmptyPipeline({ API_KEY: KEY, LOG_LEVEL: 'silent' });
    await application.listen(0, '127.0.0.1');
  });
  afterAll(() => application.close());

  it('answers as the service does', async () => {
    const url = await application.getUrl();
    const body = { type: 'customer', name: 'Example Ltd' };
    const created = await sendRequest(url, 'POST', '/api/v1/entities', { key: KEY, body });
    expect([created.status, created.body]).toEqual([201, expect.objectContaining(body)]);
    const entity = await sendRequest(url, 'GET', `/api/v1/entities/${created.body.id}`, { key: KEY });
    expect([entity.status, entity.body.id]).toEqual([200, created.body.id]);
  });
});
