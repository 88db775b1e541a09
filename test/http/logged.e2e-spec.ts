import { Controller, Get, Module, type Type } from '@nestjs/common';
import { Public, RequiresScope } from '../../src/http/request/routes';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { SampleModule } from './sample.module';
import { send } from '../support/application/send';

@Controller('scoped')
@RequiresScope('read')
class ScopedController {
  @Get()
  list(): unknown {
    return [];
  }
}

@Controller('forgotten')
class ForgottenController {
  @Get()
  @RequiresScope('read')
  list(): unknown {
    return [];
  }

  @Get('open')
  @Public()
  open(): unknown {
    return {};
  }

  @Get('unscoped')
  unscoped(): unknown {
    return {};
  }
}

@Module({ controllers: [ScopedController, ForgottenController] })
class ForgottenModule {}

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

  it('has the first failed authentication, without the key that was tried, and no line for each that follows', async () => {
    const tried = { key: 'a-tried-key', headers: { 'X-Request-Id': 'first' } };
    // A key may be tried on a route that needs none, too.
    await send(app, 'GET', '/api/v1/samples/open', { key: null });
    await send(app, 'GET', '/api/v1/samples/open', tried);
    await send(app, 'GET', '/api/v1/samples', tried);
    await send(app, 'GET', '/nothing', { key: null });
    expect(otherLines()).toEqual([
      expect.objectContaining({ level: 'warn', requestId: 'first', ip: '127.0.0.1', failuresSinceStart: 1 }),
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

describe('The log of the start', () => {
  async function warnings(modules: readonly Type[] = []): Promise<unknown[]> {
    const lines: Record<string, unknown>[] = [];
    const write = (line: string): unknown => lines.push(JSON.parse(line));
    const app = await createTestApp({ modules: [...modules], logStream: { write } });
    await app.close();
    return lines.filter(({ level, msg }) => level === 'warn' && String(msg).includes('scope')).map(({ msg }) => msg);
  }

  it('names each route of a module that names no scope, and what to do', async () => {
    expect(await warnings([ForgottenModule])).toEqual([
      "ForgottenController.unscoped names no scope, so its route needs admin. Give it @RequiresScope('…'), or @Public().",
    ]);
  });

  it('names none of our own routes', async () => {
    expect(await warnings()).toEqual([]);
  });
});
