import * as fc from 'fast-check';
import { ActionsModule } from './support/actions.module';
import { createTestApp, type TestApp } from './support/create-test-app';
import { addClaim, chainIsValid, createAgent, createEntity, createPolicy, propose } from './support/factories';
import { send } from './support/send';

/** Names of members, parameters and headers that mean something somewhere. */
const NAMES = [
  ...['type', 'name', 'properties', 'id', 'predicate', 'value', 'context', 'description', 'capabilities', 'roles'],
  ...['reason', 'action', 'resourceType', 'resourceId', 'parameters', 'title', 'proposedBy', 'riskLevel', 'expiresAt'],
  ...['approverId', 'comment', 'version', 'effect', 'subjects', 'actions', 'resources', 'resourceTypes', 'priority'],
  ...['limit', 'offset', 'order', 'cursor', 'from', 'to', 'after', 'status', 'outcome', 'agentId', 'entityId'],
  ...['constructor', 'toString', 'toJSON', 'length', '$ref', ''],
];
const TELLING = [
  '*',
  'low',
  'deny',
  'allow',
  'agent:*',
  'role:x',
  'a/*',
  '..',
  '%2e%2e',
  '1.0',
  '-1',
  '1e400',
  '2026-11-20',
];

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(...TELLING),
  fc.constantFrom('x'.repeat(101), 'é'.repeat(10_001)),
);
const value = fc.oneof(
  { weight: 3, arbitrary: text },
  { weight: 1, arbitrary: fc.array(text, { maxLength: 3 }) },
  { weight: 2, arbitrary: fc.jsonValue({ stringUnit: 'binary' }) },
);
const body = fc.oneof(
  { weight: 6, arbitrary: fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 8 }) },
  { weight: 1, arbitrary: fc.jsonValue({ stringUnit: 'binary' }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
);
const query = fc.oneof(
  { weight: 2, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.array(fc.tuple(fc.constantFrom(...NAMES), text), { maxLength: 3 }).map(encoded) },
  { weight: 1, arbitrary: fc.webQueryParameters() },
);
const tag = fc.constantFrom(undefined, '*', '"1"', 'W/"1"', '"', 'x, y', '"1", "2"');

function encoded(parameters: [string, string][]): string {
  return parameters.map(([name, content]) => `${name}=${encodeURIComponent(content)}`).join('&');
}

/** Two members at most of a request that would be fine, and what stands in their place. */
const replacements = fc.array(fc.tuple(fc.nat(), value), { maxLength: 2 });

interface Route {
  readonly path: string;
  /** A body that would be fine. */
  readonly fine?: Record<string, unknown>;
}

describe('Whatever a client sends', () => {
  let app: TestApp;
  let routes: Record<string, Route[]>;
  let accepted = 0;

  beforeAll(async () => {
    app = await createTestApp({ modules: [ActionsModule] });
    const { id: entity } = await createEntity(app);
    const { id: claim } = await addClaim(app, entity);
    const { id: agent } = await createAgent(app, { name: 'bot', capabilities: ['succeed', 'fail', '*'] });
    const { id: decision } = await propose(app, agent, { riskLevel: 'critical' });
    const { id: policy } = await createPolicy(app);
    const review = { approverId: agent, comment: 'Seen.' };
    const target = { action: 'succeed', resourceType: 'file', resourceId: 'a/b', parameters: { a: 1 } };
    const rules = {
      effect: 'allow',
      subjects: ['*'],
      actions: ['*'],
      resources: ['*'],
      resourceTypes: [],
      priority: 1,
    };
    const proposal = { type: 'a', title: 'b', proposedBy: agent, riskLevel: 'low', description: '', context: {} };
    const lists = ['entities', 'agents', 'decisions', 'policies', 'executions', 'audit', 'provenance'];
    routes = {
      GET: [
        ...[...lists, 'stats', 'health', `entities/${entity}`, `entities/${entity}/claims`, 'agents/bot'],
        ...[`entities/${entity}/claims/${claim}`, `decisions/${decision}`, `policies/${policy}`, 'provenance/1'],
      ].map((path) => ({ path })),
      POST: [
        { path: 'entities', fine: { type: 'a', name: 'b', properties: {} } },
        { path: `entities/${entity}/claims`, fine: { predicate: 'a', value: 1, context: {} } },
        { path: 'agents', fine: { name: 'c', description: '', capabilities: ['d'], roles: ['e'] } },
        { path: 'agents/bot/execute', fine: target },
        { path: 'agents/bot/suspend', fine: { reason: 'x' } },
        { path: 'agents/bot/resume', fine: { reason: 'x' } },
        { path: 'decisions', fine: proposal },
        { path: `decisions/${decision}/approve`, fine: review },
        { path: `decisions/${decision}/reject`, fine: review },
        { path: 'policies', fine: { name: 'p', version: '1', description: '', ...rules } },
        { path: `policies/${policy}/deactivate` },
        { path: `policies/${policy}/activate` },
        { path: 'provenance/verify' },
      ],
      PUT: [{ path: `entities/${entity}`, fine: { type: 'a', name: 'b', properties: {} } }],
      PATCH: [{ path: `agents/${agent}`, fine: { description: '', capabilities: ['succeed'], roles: ['e'] } }],
      DELETE: [{ path: `entities/${entity}/claims/${claim}` }],
    };
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  function bodyOf({ fine }: Route, other: unknown, replaced: [number, unknown][]): unknown {
    if (fine === undefined) return other;
    const names = Object.keys(fine);
    return { ...fine, ...Object.fromEntries(replaced.map(([index, by]) => [names[index % names.length], by])) };
  }

  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])('with %s, the answer is never a 5xx', async (method) => {
    const request = fc.record({ index: fc.nat(), isNearlyFine: fc.boolean(), body, replacements, query, tag });
    await fc.assert(
      fc.asyncProperty(request, async (sent) => {
        const among = routes[method] ?? [];
        const route = among[sent.index % among.length] ?? { path: '' };
        const content = sent.isNearlyFine ? bodyOf(route, sent.body, sent.replacements) : sent.body;
        const target = `/api/v1/${route.path}${sent.query === '' ? '' : `?${sent.query}`}`;
        const headers = sent.tag === undefined ? {} : { 'If-Match': sent.tag, 'If-None-Match': sent.tag };
        const hasBody = method !== 'GET' && method !== 'DELETE';
        const answer = await send(app, method, target, { headers, ...(hasBody && { body: content }) });
        expect(answer.status).toBeLessThan(500);
        if (answer.status >= 400) expect(answer.body.error.code).toMatch(/^[A-Z_]+$/);
        else if (hasBody) accepted += 1;
      }),
      { numRuns: method === 'POST' ? 500 : 150 },
    );
  });

  it('some of it is fine', () => {
    expect(accepted).toBeGreaterThan(50);
  });

  it('as an id in the path, the answer is never a 5xx', async () => {
    const places = [
      'entities/*',
      'entities/*/claims',
      'agents/*',
      'decisions/*',
      'policies/*',
      'executions/*',
      'provenance/*',
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), text, async (place, id) => {
        const path = place.replace('*', encodeURIComponent(id).replaceAll('.', '%2E'));
        expect((await send(app, 'GET', `/api/v1/${path}`)).status).toBeLessThan(500);
      }),
      { numRuns: 150 },
    );
  });
});
