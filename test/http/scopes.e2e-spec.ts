import { Controller, Get, Module } from '@nestjs/common';
import type { Application } from 'express';
import { AnyScope, Public, RequiresScope } from '../../src/http/request/routes';
import { type Scope, SCOPES } from '../../src/ledger/kinds/caller';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, issueKey } from '../support/application/factories';
import { SampleModule } from './sample.module';
import { type Answer, send } from '../support/application/send';

/** A public controller, of which one route names a scope. */
@Controller('mostly-public')
@Public()
class MostlyPublicController {
  @Get('open')
  open(): object {
    return {};
  }

  @Get('closed')
  @RequiresScope('read')
  closed(): object {
    return {};
  }

  @Get('any')
  @AnyScope()
  any(): object {
    return {};
  }
}

@Controller('mostly-closed')
@RequiresScope('policies')
class MostlyClosedController {
  @Get('open')
  @Public()
  open(): object {
    return {};
  }

  @Get('closed')
  closed(): object {
    return {};
  }
}

@Module({ controllers: [MostlyPublicController, MostlyClosedController] })
class MarkedModule {}

/** Scopes with which only whoever proposed a change may use the route. */
const OF_PROPOSERS: Readonly<Record<string, readonly string[]>> = {
  'GET /api/v1/decisions/:id': ['policies', 'agents'],
  'POST /api/v1/decisions/:id/cancel': ['review', 'policies', 'agents'],
};
/** The scopes that allow each route. A route that is missing here must not exist. */
const TABLE: Readonly<Record<string, readonly Scope[] | 'any' | 'public'>> = {
  'POST /api/v1/integrations/slack': 'public',
  'PUT /api/v1/agents/:id/email': 'any',
  'DELETE /api/v1/agents/:id/email': 'any',
  'GET /api/v1/entities': ['read'],
  'POST /api/v1/entities': ['entities'],
  'GET /api/v1/entities/:id': ['read'],
  'PUT /api/v1/entities/:id': ['entities'],
  'DELETE /api/v1/entities/:id': ['entities'],
  'GET /api/v1/entities/:id/claims': ['read'],
  'POST /api/v1/entities/:id/claims': ['entities'],
  'GET /api/v1/entities/:id/claims/:claimId': ['read'],
  'DELETE /api/v1/entities/:id/claims/:claimId': ['entities'],
  'GET /api/v1/agents': ['read'],
  'POST /api/v1/agents': ['agents'],
  'GET /api/v1/agents/:id': ['read'],
  'PATCH /api/v1/agents/:id': ['agents'],
  'POST /api/v1/agents/:id/suspend': ['agents'],
  'POST /api/v1/agents/:id/resume': ['agents'],
  'GET /api/v1/agents/:id/access': ['read'],
  'POST /api/v1/agents/:id/access/review': ['review'],
  'GET /api/v1/access-reviews': ['read'],
  'POST /api/v1/agents/:id/execute': ['execute'],
  'GET /api/v1/agents/:id/passkeys': 'any',
  'GET /api/v1/agents/:id/passkeys/:passkeyId': 'any',
  'POST /api/v1/agents/:id/passkeys': ['review'],
  'POST /api/v1/agents/:id/passkeys/options': ['review'],
  'POST /api/v1/agents/:id/passkeys/:passkeyId/remove': ['review'],
  'GET /api/v1/agents/:id/delegations': ['read', 'review'],
  'GET /api/v1/agents/:id/delegations/:delegationId': ['read', 'review'],
  'POST /api/v1/agents/:id/delegations': ['review'],
  'POST /api/v1/agents/:id/delegations/:delegationId/end': ['review', 'admin'],
  'GET /api/v1/grants': 'any',
  'GET /api/v1/grants/:id': 'any',
  'POST /api/v1/grants/:id/revoke': ['review'],
  'GET /api/v1/stops': 'any',
  'POST /api/v1/stops': ['review'],
  'GET /api/v1/stops/:id': 'any',
  'POST /api/v1/stops/:id/lift': ['review'],
  'GET /api/v1/policies': ['read'],
  'POST /api/v1/policies': ['policies'],
  'POST /api/v1/policies/plan': ['read', 'policies'],
  'POST /api/v1/policies/apply': ['policies'],
  'POST /api/v1/policies/evaluate': ['read', 'execute'],
  'GET /api/v1/policies/:id': ['read'],
  'GET /api/v1/policies/:id/usage': ['read'],
  'POST /api/v1/policies/:id/activate': ['policies'],
  'POST /api/v1/policies/:id/deactivate': ['policies'],
  'GET /api/v1/executions': ['read', 'execute', 'review', 'report'],
  'GET /api/v1/executions/:id': ['read', 'execute', 'review', 'report'],
  'GET /api/v1/executions/:id/evidence': ['audit'],
  'POST /api/v1/erasures': ['admin'],
  'GET /api/v1/erasures': ['audit'],
  'GET /api/v1/erasures/:id': ['audit'],
  'GET /api/v1/reports/oversight': ['audit'],
  'POST /api/v1/executions/cancel': ['execute'],
  'POST /api/v1/executions/:id/result': ['execute', 'report'],
  'POST /api/v1/executions/results': ['execute', 'report'],
  'POST /api/v1/executions/:id/resume': ['execute'],
  'POST /api/v1/executions/:id/cancel': ['execute'],
  'GET /api/v1/decisions': ['read', 'propose', 'review'],
  'POST /api/v1/decisions': ['propose'],
  'GET /api/v1/decisions/:id': ['read', 'propose', 'review'],
  'GET /api/v1/decisions/:id/approvers': ['read', 'review'],
  'GET /api/v1/decisions/:id/change': ['review'],
  'GET /api/v1/decisions/:id/evidence': ['audit'],
  'POST /api/v1/decisions/approve': ['review'],
  'POST /api/v1/decisions/:id/approve': ['review'],
  'POST /api/v1/decisions/:id/reject': ['review'],
  'POST /api/v1/decisions/:id/cancel': ['propose'],
  'GET /api/v1/api-keys': ['admin'],
  'POST /api/v1/api-keys': ['admin'],
  'GET /api/v1/api-keys/:id': ['admin'],
  'POST /api/v1/api-keys/:id/revoke': ['admin'],
  'GET /api/v1/me': 'any',
  'GET /api/v1/directory/groups': ['admin'],
  'GET /scim/v2/Users': ['directory'],
  'POST /scim/v2/Users': ['directory'],
  'GET /scim/v2/Groups': ['directory'],
  'POST /scim/v2/Groups': ['directory'],
  'GET /scim/v2/Users/:id': ['directory'],
  'PUT /scim/v2/Users/:id': ['directory'],
  'PATCH /scim/v2/Users/:id': ['directory'],
  'DELETE /scim/v2/Users/:id': ['directory'],
  'GET /scim/v2/Groups/:id': ['directory'],
  'PUT /scim/v2/Groups/:id': ['directory'],
  'PATCH /scim/v2/Groups/:id': ['directory'],
  'DELETE /scim/v2/Groups/:id': ['directory'],
  'GET /scim/v2/ServiceProviderConfig': ['directory'],
  'GET /scim/v2/ResourceTypes': ['directory'],
  'GET /scim/v2/ResourceTypes/:id': ['directory'],
  'GET /scim/v2/Schemas': ['directory'],
  'GET /scim/v2/Schemas/:id': ['directory'],
  'GET /api/v1/audit': ['audit'],
  'GET /api/v1/events': ['audit', 'report'],
  'GET /api/v1/webhooks': ['admin'],
  'POST /api/v1/webhooks': ['admin'],
  'GET /api/v1/webhooks/:id': ['admin'],
  'PATCH /api/v1/webhooks/:id': ['admin'],
  'DELETE /api/v1/webhooks/:id': ['admin'],
  'POST /api/v1/webhooks/:id/test': ['admin'],
  'POST /api/v1/webhooks/:id/rotate-secret': ['admin'],
  'POST /api/v1/webhooks/:id/replay': ['admin'],
  'POST /api/v1/webhooks/:id/resume': ['admin'],
  'GET /api/v1/provenance': ['audit'],
  'POST /api/v1/provenance/verify': ['audit'],
  'GET /api/v1/provenance/export': ['audit'],
  'GET /api/v1/provenance/checkpoint': ['audit'],
  'GET /api/v1/provenance/consistency': ['audit'],
  'GET /api/v1/provenance/:sequence': ['audit'],
  'GET /api/v1/provenance/:sequence/proof': ['audit'],
  'GET /api/v1/stats': ['read'],
  'POST /access/v1/evaluation': ['read', 'execute'],
  'POST /access/v1/evaluations': ['read', 'execute'],
  'GET /.well-known/authzen-configuration': 'public',
  'GET /.well-known/openid-configuration': 'public',
  'GET /.well-known/jwks.json': 'public',
  'GET /forward-auth': ['execute'],
  'GET /metrics': ['read'],
  'GET /api/v1/health': 'public',
  'GET /api/v1/health/live': 'public',
  'GET /api/v1/health/ready': 'public',
  // Routes of a third-party module, which name no scope.
  'POST /api/v1/samples': ['admin'],
  'GET /api/v1/samples/open': 'public',
  'GET /api/v1/mostly-public/open': 'public',
  'GET /api/v1/mostly-public/closed': ['read'],
  'GET /api/v1/mostly-public/any': 'any',
  'GET /api/v1/mostly-closed/open': 'public',
  'GET /api/v1/mostly-closed/closed': ['policies'],
};

/** Agents see their own with any scope; keys that are bound to none need one of these. */
const OF_AGENTS: ReadonlySet<string> = new Set(['GET /api/v1/grants', 'GET /api/v1/grants/:id']);
const OF_ALL_AGENTS: readonly Scope[] = ['read', 'review', 'admin'];

/** Routes for which scopes are not enough: they need a key that is bound to a person. */
const FOR_PEOPLE: ReadonlySet<string> = new Set(['POST /api/v1/stops']);

/** Routes that need a key that is bound to an agent, with any scopes. */
const FOR_BOUND: ReadonlySet<string> = new Set(['GET /forward-auth']);

const THIRD_PARTY = /\/(samples|mostly-)/;

/** Read from the running application, so that no route is forgotten. */
function routesOf(app: TestApp): string[] {
  const { router } = app.application.getHttpAdapter().getInstance() as Application;
  const { stack } = router as unknown as { stack: { route?: { path: string; methods: Record<string, boolean> } }[] };
  const routes = stack.flatMap(({ route }) =>
    Object.keys(route?.methods ?? {}).map((method) => `${method.toUpperCase()} ${route?.path ?? ''}`),
  );
  return routes.filter(
    (route) => / \/(api|access|scim|forward-auth|\.well-known|metrics)/.test(route) && !THIRD_PARTY.test(route),
  );
}

describe('Scopes', () => {
  let app: TestApp;
  /** Keys by their scope and whether they are bound. */
  const keys = new Map<string, string>();

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule, MarkedModule] });
    const agent = await createAgent(app, { name: 'bot' });
    for (const scope of SCOPES) {
      keys.set(scope, (await issueKey(app, { scopes: [scope] })).secret);
      if (['admin', 'report', 'directory'].includes(scope)) continue;
      keys.set(`${scope}, bound`, (await issueKey(app, { scopes: [scope], agentId: agent.id })).secret);
    }
  });
  afterAll(() => app.close());

  function ask(route: string, key: string | null): Promise<Answer> {
    const [method = '', path = ''] = route.split(' ');
    // An unknown parameter is refused after the scope is checked, before anything is written.
    return send(app, method, `${path.replace(/:\w+/g, '1')}?unknown=1`, { key });
  }

  it('are listed here for every route', () => {
    const routes = Object.keys(TABLE).filter((route) => !THIRD_PARTY.test(route));
    expect(routesOf(app).sort()).toEqual(routes.sort());
  });

  it.each(Object.entries(TABLE))('%s needs %j', async (route, scopes) => {
    const passed: string[] = [];
    for (const [name, key] of keys) {
      const { status, body } = await ask(route, key);
      if (status === 403)
        expect(body.error?.reason ?? body.detail).toMatch(/^(?:scope_missing|caller_not_bound)$|lacks the scope/);
      else passed.push(name);
    }
    const expected = [...keys.keys()].filter((name) => {
      const scope = name.replace(', bound', '') as Scope;
      if (OF_AGENTS.has(route) && !name.includes('bound')) return OF_ALL_AGENTS.includes(scope);
      if (FOR_BOUND.has(route) && !name.includes('bound')) return false;
      if (scope === 'report' && scopes === 'any') return route === 'GET /api/v1/me';
      if (scope === 'directory' && scopes === 'any') return false;
      if (typeof scopes === 'string' || (scope === 'admin' && !scopes.includes('directory'))) return true;
      return scopes.includes(scope) && !FOR_PEOPLE.has(route);
    });
    expect(passed).toEqual(expected);
    expect((await ask(route, null)).status === 401).toBe(scopes !== 'public');
  });

  it('are named once for each route and controller', () => {
    const twice = "says twice who may call it: keep one of @RequiresScope('…'), @AnyScope() and @Public().";
    const declare = (): unknown => {
      class Twice {
        @Public()
        @RequiresScope('admin')
        route(): void {
          // This method is never called.
        }
      }
      return Twice;
    };
    expect(declare).toThrow(`Twice.route ${twice}`);
    const declareController = (): unknown => {
      @RequiresScope('admin')
      @AnyScope()
      class Twice {}
      return Twice;
    };
    expect(declareController).toThrow(`Twice ${twice}`);
  });

  it('are checked after the route is found, and before the body is read', async () => {
    const key = keys.get('read') ?? '';
    expect((await send(app, 'GET', '/api/v1/nothing', { key })).status).toBe(404);
    expect((await send(app, 'PATCH', '/api/v1/entities', { key })).status).toBe(405);
    const headers = { 'Content-Type': 'text/plain', 'Idempotency-Key': 'with spaces in it' };
    const answer = await send(app, 'POST', '/api/v1/entities', { key, body: '{', headers });
    expect([answer.status, answer.body.error.reason]).toEqual([403, 'scope_missing']);
    expect(answer.body.error.message).toContain('"entities"');
  });

  it('of GET also apply to HEAD', async () => {
    const status = async (scope: string): Promise<number> =>
      (await send(app, 'HEAD', '/api/v1/entities', { key: keys.get(scope) ?? '' })).status;
    expect([await status('read'), await status('audit')]).toEqual([200, 403]);
  });

  it('are in the API document', async () => {
    const { body } = await send(app, 'GET', '/docs/openapi.json');
    const { components, paths, security } = body;
    expect(components.securitySchemes).toMatchObject({
      ApiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      Bearer: { type: 'http', scheme: 'bearer' },
    });
    expect(security).toEqual([{ ApiKey: [] }, { Bearer: [] }]);
    for (const [route, scopes] of Object.entries(TABLE)) {
      const [method = '', path = ''] = route.split(' ');
      const operation = paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
      if (operation === undefined) continue;
      const documented = typeof scopes === 'string' ? scopes : [...scopes, ...(OF_PROPOSERS[route] ?? [])];
      const line = typeof documented === 'string' ? 'any' : documented.map((scope) => `\`${scope}\``).join(' or ');
      const expected =
        scopes === 'public' ? expect.not.stringContaining('Scope:') : expect.stringMatching(`Scope: ${line}\\.$`);
      expect([route, operation.description ?? '']).toEqual([route, expected]);
    }
  });
});
