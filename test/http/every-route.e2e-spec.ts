import type { Application } from 'express';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { faults, send } from '../support/application/send';

interface Route {
  readonly method: string;
  readonly path: string;
}

const METHODS_WITH_BODY = ['POST', 'PUT', 'PATCH'];
/** Takes a form, which Slack signs. */
const TAKES_FORM = '/api/v1/integrations/slack';

/** Read from the running application, so that no route is forgotten. */
function routesOf(app: TestApp): Route[] {
  const { router } = app.application.getHttpAdapter().getInstance() as Application;
  const { stack } = router as unknown as { stack: { route?: { path: string; methods: Record<string, boolean> } }[] };
  const routes = stack.flatMap(({ route }) =>
    Object.keys(route?.methods ?? {}).map((method) => ({ method: method.toUpperCase(), path: route?.path ?? '' })),
  );
  return routes.filter(({ path }) => path.startsWith('/api/'));
}

describe('Every route', () => {
  let app: TestApp;
  let routes: readonly Route[];

  beforeAll(async () => {
    app = await createTestApp();
    routes = routesOf(app).map(({ method, path }) => ({ method, path: path.replace(/:\w+/g, '1') }));
  });
  afterAll(() => app.close());

  function name({ method, path }: Route): string {
    return `${method} ${path}`;
  }

  it('is known to this test', () => {
    expect(routes.length).toBeGreaterThan(25);
    expect(routes.map(name)).toEqual(
      expect.arrayContaining(['POST /api/v1/entities', 'GET /api/v1/audit', 'POST /api/v1/provenance/verify']),
    );
  });

  it('except for health needs the key', async () => {
    const open = [];
    for (const route of routes) {
      const { status, body } = await send(app, route.method, route.path, { key: null });
      if (status !== 401) open.push(name(route));
      else expect(body.error.code).toBe('UNAUTHORIZED');
    }
    expect(open).toEqual(['GET /api/v1/health', 'GET /api/v1/health/live', 'GET /api/v1/health/ready']);
  });

  it('refuses a query parameter it does not know', async () => {
    for (const route of routes) {
      const answer = await send(app, route.method, `${route.path}?unknown=1`);
      expect([name(route), answer.status]).toEqual([name(route), 400]);
      expect(faults(answer)).toHaveProperty(['query.unknown']);
    }
  });

  /** The routes that take JSON. */
  function routesWithBody(): Route[] {
    return routes.filter(({ method, path }) => METHODS_WITH_BODY.includes(method) && path !== TAKES_FORM);
  }

  it('refuses an unknown member, whether or not it takes a body', async () => {
    for (const route of routesWithBody()) {
      for (const member of ['unknown', 'constructor']) {
        const answer = await send(app, route.method, route.path, { body: { [member]: null } });
        expect([name(route), answer.status]).toEqual([name(route), 400]);
        expect(faults(answer)).toHaveProperty([member]);
      }
    }
  });

  it('refuses a name given twice, unless its body only records or asks', async () => {
    const taking: string[] = [];
    for (const route of routesWithBody()) {
      const answer = await send(app, route.method, route.path, { body: '{"unknown":[{"a":1,"\\u0061":2}]}' });
      const repeated = faults(answer)['unknown[0].a'];
      if (repeated === undefined) taking.push(name(route));
      else expect(repeated).toBe('must be given once: it is there twice');
    }
    expect(taking.sort()).toEqual([
      'POST /api/v1/agents/1/execute',
      'POST /api/v1/entities',
      'POST /api/v1/entities/1/claims',
      'POST /api/v1/executions/1/cancel',
      'POST /api/v1/executions/1/result',
      'POST /api/v1/executions/1/resume',
      'POST /api/v1/executions/cancel',
      'POST /api/v1/executions/results',
      'POST /api/v1/policies/evaluate',
      'POST /api/v1/provenance/verify',
      'PUT /api/v1/entities/1',
    ]);
  });

  it('refuses a body that is not JSON, not an object, or of another type', async () => {
    for (const route of routesWithBody()) {
      expect((await send(app, route.method, route.path, { body: '{' })).status).toBe(400);
      expect((await send(app, route.method, route.path, { body: [] })).status).toBe(400);
      const headers = { 'Content-Type': 'text/plain' };
      expect((await send(app, route.method, route.path, { body: '{}', headers })).status).toBe(415);
    }
  });

  it("answers with the client's standing against the rate limit and the id of the request", async () => {
    for (const route of routes) {
      const { headers } = await send(app, route.method, route.path, { key: null });
      for (const header of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-request-id']) {
        expect([name(route), headers.get(header)]).toEqual([name(route), expect.stringMatching(/.+/)]);
      }
    }
  });
});
