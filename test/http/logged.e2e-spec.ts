import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { SampleModule } from './sample.module';
import { send } from '../support/application/send';

describe('The log of the HTTP layer', () => {
  let app: TestApp;
  const lines: Record<string, unknown>[] = [];
  /** All lines except the one for each request. */
  const otherLines = (): Record<string, unknown>[] => lines.filter((line) => !('status' in line));

  beforeAll(async () => {
    const write = (line: string): unknown => lines.push(JSON.parse(line));
    app = await createTestApp({ modules: [SampleModule], logStream: { write } });
  });
  afterAll(() => app.close());
  beforeEach(() => lines.splice(0));

  it('has each failed authentication, counted, without the key that was tried', async () => {
    await send(app, 'GET', '/api/v1/samples', { key: 'a-tried-key', headers: { 'X-Request-Id': 'first' } });
    await send(app, 'GET', '/nothing', { key: null, headers: { 'X-Request-Id': 'second' } });
    expect(otherLines()).toEqual([
      expect.objectContaining({ level: 'warn', requestId: 'first', ip: '127.0.0.1', failuresSinceStart: 1 }),
      expect.objectContaining({ level: 'warn', requestId: 'second', failuresSinceStart: 2 }),
    ]);
    expect(JSON.stringify(lines)).not.toContain('a-tried-key');
  });

  it('has unforeseen errors in full, under the request id', async () => {
    const { body } = await send(app, 'GET', '/api/v1/samples/broken');
    const err = expect.objectContaining({ message: expect.stringContaining('a secret detail') });
    const { requestId } = body.error;
    expect(otherLines()).toEqual([
      expect.objectContaining({ level: 'error', msg: 'Unforeseen error', requestId, err }),
    ]);
  });

  it('has nothing about mistakes of clients', async () => {
    await send(app, 'GET', '/nothing');
    await send(app, 'POST', '/api/v1/samples', { body: '{' });
    expect(otherLines()).toEqual([]);
  });
});
