import { All, Controller, Module, Options } from '@nestjs/common';
import { AnyScope, Public, RequiresScope } from '../../src/http/request/routes';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { SampleModule } from './sample.module';
import { send, type Answer } from '../support/application/send';

const ORIGIN = 'https://app.example.org';

/** Routes that handle OPTIONS themselves, so that a preflight reaches them. */
@Controller('own-options')
class OwnOptionsController {
  @All('all')
  @RequiresScope('admin')
  all(): object {
    return { ran: true };
  }

  @Options('options')
  @AnyScope()
  options(): object {
    return { ran: true };
  }

  @Options('public')
  @Public()
  public(): object {
    return { ran: true };
  }
}

@Module({ controllers: [OwnOptionsController] })
class OwnOptionsModule {}

describe('Cross-origin requests', () => {
  let app: TestApp | undefined;

  afterEach(() => app?.close());

  async function start(origins?: string): Promise<TestApp> {
    app = await createTestApp({ modules: [SampleModule, OwnOptionsModule], environment: { CORS_ORIGIN: origins } });
    return app;
  }

  function preflight(to: TestApp, path: string, origin = ORIGIN): Promise<Answer> {
    const headers = {
      Origin: origin,
      'Access-Control-Request-Method': 'PATCH',
      'Access-Control-Request-Headers': 'x-api-key,content-type',
    };
    return send(to, 'OPTIONS', path, { key: null, headers });
  }

  it('are off unless an origin is configured', async () => {
    const answer = await send(await start(), 'GET', '/api/v1/samples', { headers: { Origin: ORIGIN } });
    expect(answer.status).toBe(200);
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('are allowed from the configured origins only, compared exactly', async () => {
    const on = await start(`https://other.example.org,${ORIGIN}`);
    const allowed = async (origin: string): Promise<string | null> =>
      (await send(on, 'GET', '/api/v1/samples', { headers: { Origin: origin } })).headers.get(
        'access-control-allow-origin',
      );
    expect(await allowed(ORIGIN)).toBe(ORIGIN);
    expect(await allowed('https://other.example.org')).toBe('https://other.example.org');
    for (const other of [
      'http://app.example.org',
      `${ORIGIN}:8443`,
      `${ORIGIN}.evil.org`,
      'https://example.org',
      'null',
    ]) {
      expect(await allowed(other)).toBeNull();
    }
  });

  it('may read the relevant headers, also of errors', async () => {
    const on = await start(ORIGIN);
    const paths = ['/api/v1/samples/1', '/nothing', '/api/v1/samples/broken', '/api/v1/samples?limit=x'];
    for (const path of paths) {
      const { headers } = await send(on, 'GET', path, { headers: { Origin: ORIGIN } });
      expect(headers.get('access-control-allow-origin')).toBe(ORIGIN);
      expect(headers.get('vary')).toContain('Origin');
      const exposed = headers.get('access-control-expose-headers')?.split(',') ?? [];
      expect(exposed).toEqual(
        expect.arrayContaining([
          'X-RateLimit-Limit',
          'X-RateLimit-Remaining',
          'X-RateLimit-Reset',
          'Retry-After',
          'X-Request-Id',
          'ETag',
          'Location',
          'X-Head-Sequence',
          'X-Head-Hash',
          'Approval-Requested',
          'Approval-Feasible',
        ]),
      );
    }
    const keyless = await send(on, 'GET', '/api/v1/samples', { key: null, headers: { Origin: ORIGIN } });
    expect(keyless.status).toBe(401);
    expect(keyless.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  });

  it('are preceded by a preflight, which needs no key and is counted', async () => {
    const on = await start(ORIGIN);
    for (const path of ['/api/v1/samples', '/api/v1/samples/1', '/nothing']) {
      const answer = await preflight(on, path);
      expect(answer).toMatchObject({ status: 204, text: '' });
      expect(answer.headers.get('access-control-allow-origin')).toBe(ORIGIN);
      expect(answer.headers.get('access-control-allow-methods')).toBe('GET,POST,PUT,PATCH,DELETE');
      expect(answer.headers.get('access-control-allow-headers')).toBe(
        'Content-Type,X-API-Key,Authorization,If-Match,If-None-Match,Idempotency-Key,X-Request-Id,Last-Event-ID,traceparent,Change,Break-Glass',
      );
      expect(answer.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/);
    }
    const plain = await send(on, 'OPTIONS', '/api/v1/samples', { key: null });
    expect(plain.status).toBe(401);
  });

  it('are preceded by a preflight, which runs no route without its caller', async () => {
    const on = await start(ORIGIN);
    for (const [path, status] of Object.entries({ all: 401, options: 401, public: 200 })) {
      const answer = await preflight(on, `/api/v1/own-options/${path}`);
      expect([path, answer.status, answer.text.includes('ran')]).toEqual([path, status, status === 200]);
    }
    const headers = { Origin: ORIGIN, 'Access-Control-Request-Method': 'PATCH' };
    const byCaller = await send(on, 'OPTIONS', '/api/v1/own-options/all', { headers });
    expect(byCaller).toMatchObject({ status: 200, body: { ran: true } });
  });

  it('are not allowed from an unlisted origin by its preflight', async () => {
    const answer = await preflight(await start(ORIGIN), '/api/v1/samples', 'https://evil.example');
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('are allowed from every origin with *', async () => {
    const answer = await send(await start('*'), 'GET', '/api/v1/samples', {
      headers: { Origin: 'https://any.example' },
    });
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  });
});
