import { context, type Context, type ContextManager, ROOT_CONTEXT, trace, TraceFlags } from '@opentelemetry/api';
import { AsyncLocalStorage } from 'node:async_hooks';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { connectThroughProxy } from '../mcp/mcp-clients';
import { openShop } from '../mcp/shop';
import { builtClient } from '../typescript-client';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = { traceId: TRACE, spanId: '00f067aa0ba902b7', traceFlags: TraceFlags.SAMPLED };
const REQUEST = { agent: 'bot', action: 'read', resourceType: 'document', resourceId: 'a' };

/** The part of an SDK that knows which span is active. */
class Contexts implements ContextManager {
  private readonly storage = new AsyncLocalStorage<Context>();
  active = (): Context => this.storage.getStore() ?? ROOT_CONTEXT;
  with: ContextManager['with'] = (active, run, receiver, ...values) =>
    this.storage.run(active, () => run.apply(receiver as never, values));
  bind: ContextManager['bind'] = (_active, target) => target;
  enable = (): this => this;
  disable = (): this => this;
}

describeOnSqlite('The trace of the active span', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['read'] });
    await createPolicy(app);
  });
  afterAll(async () => {
    context.disable();
    await app.close();
  });

  const traceOf = async (resourceId: string): Promise<string | null> =>
    (await send(app, 'GET', `/api/v1/executions?resourceId=${resourceId}`)).body.data[0].traceId;

  it('goes with what the TypeScript client asks, where OpenTelemetry is present', async () => {
    const { GovernanceClient } = await builtClient();
    const governance = new GovernanceClient({ url: app.url, key: API_KEY });
    await governance.guard({ ...REQUEST, resourceId: 'absent' }, () => 'ran');
    context.setGlobalContextManager(new Contexts());
    await governance.guard({ ...REQUEST, resourceId: 'inactive' }, () => 'ran');
    await context.with(trace.setSpanContext(ROOT_CONTEXT, SPAN), () =>
      governance.guard({ ...REQUEST, resourceId: 'active' }, () => 'ran'),
    );
    const invalid = { ...SPAN, traceId: '0'.repeat(32) };
    await context.with(trace.setSpanContext(ROOT_CONTEXT, invalid), () =>
      governance.guard({ ...REQUEST, resourceId: 'invalid' }, () => 'ran'),
    );
    expect(await traceOf('active')).toBe(TRACE);
    for (const untraced of ['absent', 'inactive', 'invalid'])
      expect([untraced, await traceOf(untraced)]).toEqual([untraced, null]);
  });

  it('goes with the calls through gov mcp', async () => {
    const shop = await openShop();
    const customer = await shop.customer('traced');
    const environment = { ...customer.environment, NODE_OPTIONS: `--require ${join(__dirname, 'active-span.cjs')}` };
    const connection = await connectThroughProxy({ way: 'stdio', era: 'modern', runs: customer.runs, environment });
    await connection.client.callTool({ name: 'echo', arguments: { n: 1 } });
    const [only] = await customer.executions('echo');
    expect(only).toMatchObject({ outcome: 'executed', traceId: TRACE });
    await connection.close();
    await shop.close();
  });
});
