import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey, propose } from '../support/application/factories';
import { send } from '../support/application/send';

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Every route that reads, derived from the API document. */
describe('With a key of a team', () => {
  let app: TestApp;
  let key: string;
  let paths: readonly string[];
  /** Records that the team may not see, by the beginning of their route. */
  const hidden = new Map<string, string>();

  beforeAll(async () => {
    app = await createTestApp();
    key = (await issueKey(app, { team: 'support', scopes: ['read', 'agents', 'policies', 'execute'] })).secret;
    const document = (await send(app, 'GET', '/docs/openapi.json')).body as ApiDocument;
    paths = Object.entries(document.paths).flatMap(([path, methods]) => ('get' in methods ? path : []));
    const agent = await createAgent(app, { name: 'hidden-bot', roles: ['hidden'], capabilities: ['*'], team: 'sales' });
    const policy = await createPolicy(app, { name: 'hidden-policy', team: 'sales', actions: ['hidden-action'] });
    const decision = await propose(app, agent.id, { title: 'hidden' });
    const body = { action: 'hidden-action', resourceType: 't', resourceId: 'hidden' };
    const execution = await send(app, 'POST', `/api/v1/agents/${agent.id}/execute`, { body });
    const stop = await send(app, 'POST', '/api/v1/stops', { body: { agentId: agent.id, reason: 'hidden' } });
    hidden
      .set('/api/v1/agents/', agent.id)
      .set('/api/v1/policies/', policy.id)
      .set('/api/v1/decisions/', decision.id)
      .set('/api/v1/executions/', execution.body.id)
      .set('/api/v1/stops/', stop.body.id);
  });
  afterAll(() => app.close());

  it('no list shows a record of another team, and no record of one is found', async () => {
    const statuses = new Map<string, number>();
    for (const path of paths) {
      const [, id] = [...hidden].find(([start]) => path.startsWith(start)) ?? [];
      const isOfRecord = path.includes('{');
      if (isOfRecord && id === undefined) continue;
      const { status, text } = await send(app, 'GET', path.replace('{id}', id ?? '').replace(/\{\w+\}/, 'x'), { key });
      statuses.set(path, status);
      if (path.startsWith('/api/v1/') && !path.startsWith('/api/v1/health')) {
        expect({ path, isShown: text.includes('hidden') }).toEqual({ path, isShown: false });
        if (isOfRecord) expect([path, [403, 404].includes(status)]).toEqual([path, true]);
      }
    }
    expect(statuses.get('/api/v1/agents')).toBe(200);
    expect(statuses.get('/api/v1/agents/{id}')).toBe(404);
  });
});
