import { lift, stop } from '../../stops/support';
import { describeOnSqlite } from '../../support/database/database-kind';
import { connectThroughProxy, textOf } from './mcp-clients';
import { openShop, type Shop, WAYS } from './shop';

describeOnSqlite('A stop, while gov mcp carries calls', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop();
  });
  afterAll(() => shop.close());

  it.each(WAYS)('cancels what it covers, and nothing else (%s, %s protocol)', async (way, era) => {
    const customer = await shop.customer(`stopped-${way}`);
    const { environment, runs } = customer;
    const { client, close } = await connectThroughProxy({ way, era, runs, environment });
    const running = client.callTool({ name: 'slow' });
    const { agentId } = await customer.askedAndIs('slow', 'authorized');
    const other = await stop(shop.app, { actions: ['echo'] });
    expect(textOf(await client.callTool({ name: 'echo' }))).toContain('stopped');
    const covering = await stop(shop.app, { agentId, actions: ['sl*'] });
    const cancelled = await running;
    expect(cancelled.isError).toBe(true);
    expect(textOf(cancelled)).toContain('Somebody stopped the agent while it ran');
    const { failureReason } = await customer.askedAndIs('slow', 'failed');
    expect(failureReason).toContain('Somebody stopped the agent');
    for (const active of [other, covering]) await lift(shop.app, active);
    expect(textOf(await client.callTool({ name: 'echo', arguments: { n: 1 } }))).toBe('{"n":1}');
    await close();
  });
});
