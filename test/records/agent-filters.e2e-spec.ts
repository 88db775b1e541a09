import type { AgentResponse } from '../../src/governance/agents/dto/agent.dto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, propose } from '../support/application/factories';
import { send } from '../support/application/send';

/** Composed, as it is stored, and decomposed, as some clients write it. */
const FORMS = ['caf\u00e9 & co', 'cafe\u0301 & co'];
const FILTERS = [
  ['executions', 'agentId'],
  ['decisions', 'proposedBy'],
  ['audit', 'agentId'],
  ['provenance', 'agentId'],
] as const;

describe('Filters by an agent', () => {
  let app: TestApp;
  let agent: AgentResponse;

  beforeAll(async () => {
    app = await createTestApp();
    agent = await createAgent(app, { name: FORMS[0], capabilities: ['read'] });
    const other = await createAgent(app, { name: 'other', capabilities: ['read'] });
    await createPolicy(app);
    const body = { action: 'read', resourceType: 'document', resourceId: 'a' };
    for (const { id } of [agent, other, agent]) await send(app, 'POST', `/api/v1/agents/${id}/execute`, { body });
    for (const name of [...FORMS, 'other']) await propose(app, name);
  });
  afterAll(() => app.close());

  it.each(FILTERS)('of %s accept its name in place of its id', async (list, filter) => {
    const byId = await send(app, 'GET', `/api/v1/${list}?${filter}=${agent.id}`);
    expect(byId.body.total).toBeGreaterThan(1);
    for (const name of FORMS) {
      const byName = await send(app, 'GET', `/api/v1/${list}?${filter}=${encodeURIComponent(name)}`);
      expect(byName).toMatchObject({ status: 200, body: byId.body });
    }
  });

  it.each(FILTERS)('of %s find nothing for an unknown agent', async (list, filter) => {
    for (const nobody of ['nobody', 'agt_01KAGQ6T0N5V8B3M7C2H9J4XWE', 'x'.repeat(500)]) {
      const answer = await send(app, 'GET', `/api/v1/${list}?${filter}=${nobody}`);
      expect(answer).toMatchObject({ status: 200, body: { data: [], total: 0 } });
    }
  });

  it.each(FILTERS)('of %s are kept by cursors', async (list, filter) => {
    const query = `${filter}=${encodeURIComponent(agent.name)}`;
    const all = await send(app, 'GET', `/api/v1/${list}?${query}`);
    const first = await send(app, 'GET', `/api/v1/${list}?${query}&limit=1`);
    const next = await send(app, 'GET', `/api/v1/${list}?limit=1&cursor=${first.body.nextCursor}`);
    expect([...first.body.data, ...next.body.data]).toEqual(all.body.data.slice(0, 2));
  });
});
