import { createTestApp, type TestApp } from '../support/create-test-app';
import { SampleModule } from '../support/sample.module';
import { send } from '../support/send';

describe('What the edge logs', () => {
  let app: TestApp;
  const lines: { level: string; message: Record<string, unknown> }[] = [];

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule] });
    const at = (level: string) => (message: Record<string, unknown>) => lines.push({ level, message });
    app.application.useLogger({ log: at('log'), warn: at('warn'), error: at('error') });
  });
  afterAll(() => app.close());
  beforeEach(() => lines.splice(0));

  it('is each failed authentication, counted, without the key that was tried', async () => {
    await send(app, 'GET', '/api/v1/samples', { key: 'a-tried-key', headers: { 'X-Request-Id': 'first' } });
    await send(app, 'GET', '/nothing', { key: null, headers: { 'X-Request-Id': 'second' } });
    expect(lines).toEqual([
      {
        level: 'warn',
        message: expect.objectContaining({ requestId: 'first', ip: '127.0.0.1', failuresSinceStart: 1 }),
      },
      { level: 'warn', message: expect.objectContaining({ requestId: 'second', failuresSinceStart: 2 }) },
    ]);
    expect(JSON.stringify(lines)).not.toContain('a-tried-key');
  });

  it('is all of an error nobody foresaw, under the request id', async () => {
    const { body } = await send(app, 'GET', '/api/v1/samples/broken');
    expect(lines).toEqual([
      { level: 'error', message: expect.objectContaining({ requestId: body.error.requestId, err: expect.any(Error) }) },
    ]);
    expect(lines[0]?.message['err']).toMatchObject({ message: expect.stringContaining('a secret detail') });
  });

  it('is nothing of what a client does wrong', async () => {
    await send(app, 'GET', '/nothing');
    await send(app, 'POST', '/api/v1/samples', { body: '{' });
    expect(lines).toEqual([]);
  });
});
