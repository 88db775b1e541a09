import { approve } from '../../approvals/support';
import { API_KEY } from '../../support/application/api-key';
import { createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { gov } from '../command-line';
import { type Connection, connectThroughProxy, type ProxyOptions, textOf } from '../mcp/mcp-clients';
import { type Customer, openShop, type Shop } from '../mcp/shop';
import { builtClient } from '../typescript-client';

const USER = { subject: 'user:4711' };
const REFUND = { name: 'refund', arguments: { order: 'a' } };

/** `clients/python` and `frameworks` have tests of their own. */
describeOnSqlite('For whom and in which run clients ask', () => {
  let shop: Shop;
  const open: Connection[] = [];

  beforeAll(async () => {
    shop = await openShop();
    await createPolicy(shop.app, { actions: ['wipe'], onBehalfOf: ['user:4711'] });
  });
  afterEach(() => Promise.all(open.splice(0).map(({ close }) => close())));
  afterAll(() => shop.close());

  async function connected({ environment, runs }: Customer, how: Partial<ProxyOptions> = {}): Promise<Connection> {
    const connection = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment, ...how });
    open.push(connection);
    return connection;
  }

  async function customerFor(name: string): Promise<Customer> {
    const customer = await shop.customer(name);
    const { secret } = await issueKey(shop.app, { scopes: ['execute'], agentId: name, principals: ['user:*'] });
    return { ...customer, environment: { ...customer.environment, GOVERNANCE_API_KEY: secret } };
  }

  it('guard of the TypeScript client says it, and a refusal is explained for the same', async () => {
    const { GovernanceClient } = await builtClient();
    const customer = await shop.customer('guard');
    const governance = new GovernanceClient({ url: shop.app.url, key: API_KEY });
    const request = { agent: 'guard', action: 'wipe', resourceType: 'tool', resourceId: 'a' };
    await governance.guard({ ...request, onBehalfOf: { ...USER, roles: ['b', 'a'] }, run: 'one' }, () => 'ran');
    const onBehalfOf = { ...USER, roles: ['a', 'b'] };
    expect(await customer.executions('wipe')).toMatchObject([{ outcome: 'executed', onBehalfOf, run: 'one' }]);
    const refused = governance.guard({ ...request, onBehalfOf: { subject: 'user:x' } }, () => 'ran');
    const nearest = [{ missing: ['onBehalfOf'] }];
    await expect(refused).rejects.toMatchObject({ explanation: { explanation: { nearest } } });
    // TypeScript refuses it; the service refuses it from a program without types.
    const misspelt = governance.guard({ ...request, ...{ onBehalfof: USER } }, () => 'ran');
    await expect(misspelt).rejects.toMatchObject({ status: 400, message: expect.stringContaining('onBehalfof') });
  });

  it.each(['legacy', 'modern'] as const)('a session of gov mcp over pipes is one run, %s protocol', async (era) => {
    const customer = await shop.customer(`session ${era}`);
    const how = { era, words: ['--hold', '0'] };
    const { client } = await connected(customer, how);
    expect(textOf(await client.callTool(REFUND))).toContain('Approval pending');
    const { decisionId, run } = await customer.executionThatIs('refund', 'pending_approval');
    await approve(shop.app, decisionId, shop.people.ann);
    const other = await connected(customer, how);
    expect(textOf(await other.client.callTool(REFUND))).toContain('Approval pending');
    expect(textOf(await client.callTool(REFUND))).toBe('{"order":"a"}');
    await client.callTool({ name: 'echo' });
    expect(run).toMatch(/^[\da-f-]{36}$/);
    expect(await customer.executions('echo')).toMatchObject([{ run, onBehalfOf: null }]);
    const [, another] = await customer.executions('refund');
    expect(another?.run).not.toBe(run);
  });

  it('a session of gov mcp over HTTP is one run; without sessions there is none', async () => {
    const customer = await shop.customer('over HTTP');
    const { client } = await connected(customer, { way: 'http', era: 'legacy' });
    for (let calls = 0; calls < 2; calls += 1) await client.callTool({ name: 'echo' });
    const [first, second] = await customer.executions('echo');
    expect([typeof first?.run, second?.run]).toEqual(['string', first?.run]);
    const stateless = await connected(customer, { way: 'http', era: 'modern', words: ['--hold', '0'] });
    expect(textOf(await stateless.client.callTool(REFUND))).toContain('Approval pending');
    const { decisionId } = await customer.executionThatIs('refund', 'pending_approval');
    await approve(shop.app, decisionId, shop.people.ann);
    expect(textOf(await stateless.client.callTool(REFUND))).toBe('{"order":"a"}');
    // The gateway reports after it has answered.
    expect(await customer.executionThatIs('refund', 'executed')).toMatchObject({ run: null });
  });

  it('gov mcp asks for whom and in which run it is told, and lists tools accordingly', async () => {
    const customer = await customerFor('told');
    const words = ['--on-behalf-of', USER.subject, '--run', 'one'];
    for (const [way, era] of [
      ['stdio', 'legacy'],
      ['stdio', 'modern'],
    ] as const) {
      const { client } = await connected(customer, { way, era, words });
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('wipe');
      await client.callTool({ name: 'wipe' });
    }
    const expectedExecution = { outcome: 'executed', onBehalfOf: USER, run: 'one' };
    expect(await customer.executions('wipe')).toMatchObject([expectedExecution, expectedExecution]);
    const { client } = await connected(customer);
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('wipe');
  });

  it('gov explain asks about it', async () => {
    await shop.customer('explained');
    const environment = { GOVERNANCE_URL: shop.app.url, GOVERNANCE_API_KEY: API_KEY };
    const words = ['explain', 'explained', 'wipe', 'tool', 'a', '--run', 'one'];
    const { output } = await gov([...words, '--on-behalf-of', USER.subject], { environment });
    expect(output).toContain('allow');
    expect((await gov(words, { environment })).output).toContain('deny');
  });

  it('the hook of Claude Code asks for whom it is told, and in the run of its session', async () => {
    const customer = await customerFor('hooked');
    await createPolicy(shop.app, { actions: ['slow'], resources: ['tool/claude-code/*'] });
    const event = { session_id: 'abc', hook_event_name: 'PreToolUse', tool_name: 'slow', tool_input: {} };
    const environment = { ...customer.environment, XDG_STATE_HOME: `${customer.runs}-hooks` };
    const words = ['hook', 'claude-code'];
    for (const options of [[], ['--on-behalf-of', USER.subject, '--run', 'one']]) {
      const { exitCode } = await gov([...words, ...options], { environment, input: JSON.stringify(event) });
      expect(exitCode).toBe(0);
    }
    const { data } = (await send(shop.app, 'GET', '/api/v1/executions?action=slow')).body;
    expect(data).toMatchObject([
      { onBehalfOf: null, run: 'abc' },
      { onBehalfOf: USER, run: 'one' },
    ]);
  });
});
