import { approve, execution, reject } from '../../approvals/support';
import { describeOnSqlite } from '../../support/database/database-kind';
import { type Connection, connectThroughProxy, textOf } from './mcp-clients';
import { type Customer, openShop, type Shop, WAYS } from './shop';

describeOnSqlite('Calls through gov mcp that need an approval', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop();
  });
  afterAll(() => shop.close());

  describe.each(WAYS)('over %s, %s protocol', (way, era) => {
    let holding: Connection;
    let hasty: Connection;
    let customer: Customer;

    beforeAll(async () => {
      customer = await shop.customer(`${way}-${era}`);
      const { environment, runs } = customer;
      const options = { way, era, runs, environment };
      [holding, hasty] = await Promise.all([
        // Longer than the service holds a single request.
        connectThroughProxy({ ...options, words: ['--hold', '100'] }),
        connectThroughProxy({ ...options, words: ['--hold', '0'], elicitation: 'form' }),
      ]);
    });
    afterAll(async () => {
      await Promise.all([holding.close(), hasty.close()]);
    });

    it('holds a call until it is approved', async () => {
      const progress: unknown[] = [];
      const call = { name: 'refund', arguments: { order: 'held' } };
      const calling = holding.client.callTool(call, { onprogress: ({ message }) => progress.push(message) });
      const { id, decisionId } = await customer.askedAndIs('refund', 'pending_approval');
      expect(customer.ran('refund')).toEqual([]);
      await approve(shop.app, decisionId, shop.people.ann);
      expect(textOf(await calling)).toBe('{"order":"held"}');
      expect(customer.ran('refund')).toEqual([{ order: 'held' }]);
      expect(progress).toContain(`refund waits for the decision ${String(decisionId)}.`);
      expect(await execution(shop.app, id)).toMatchObject({ outcome: 'executed' });
    });

    it('answers when it is rejected, and when nobody decides in time', async () => {
      const calling = holding.client.callTool({ name: 'refund', arguments: { order: 'rejected' } });
      const { decisionId } = await customer.askedAndIs('refund', 'pending_approval');
      await reject(shop.app, decisionId, shop.people.ann);
      expect(textOf(await calling)).toContain('was rejected');
      const late = await holding.client.callTool({ name: 'brief' });
      expect(textOf(late)).toContain('in time');
      expect([customer.ran('refund').length, customer.ran('brief')]).toEqual([1, []]);
    });

    it('withdraws the request of a call that the client cancels', async () => {
      const cancelling = new AbortController();
      const call = { name: 'refund', arguments: { order: 'cancelled' } };
      const calling = holding.client.callTool(call, { signal: cancelling.signal });
      await customer.askedAndIs('refund', 'pending_approval');
      cancelling.abort();
      await expect(calling).rejects.toThrow();
      await customer.askedAndIs('refund', 'cancelled');
      expect(customer.ran('refund')).toHaveLength(1);
    });

    it("asks the client after waiting for a while; the client's answer approves nothing", async () => {
      const messages: string[] = [];
      hasty.client.setRequestHandler('elicitation/create', async ({ params }) => {
        messages.push(params.message);
        return { action: 'accept', content: {} };
      });
      const before = customer.ran('refund').length;
      const call = { name: 'refund', arguments: { order: 'asked' } };
      const unapproved = await hasty.client.callTool(call);
      const { decisionId } = await customer.askedAndIs('refund', 'pending_approval');
      expect(messages).toEqual([expect.stringContaining(`gov approve ${String(decisionId)}`)]);
      expect(textOf(unapproved)).toContain('Approval pending');
      expect(customer.ran('refund')).toHaveLength(before);
      hasty.client.setRequestHandler('elicitation/create', async () => {
        await approve(shop.app, decisionId, shop.people.ann);
        return { action: 'accept', content: {} };
      });
      expect(textOf(await hasty.client.callTool(call))).toBe('{"order":"asked"}');
      expect(customer.ran('refund')).toHaveLength(before + 1);
    });

    it('lets an approval be used once, and only for what was approved', async () => {
      hasty.client.setRequestHandler('elicitation/create', async () => ({ action: 'decline' }));
      const before = customer.ran('refund').length;
      const call = { name: 'refund', arguments: { order: 'once' } };
      expect(textOf(await hasty.client.callTool(call))).toContain('call it again with the same arguments'.slice(5));
      await approve(shop.app, (await customer.askedAndIs('refund', 'pending_approval')).decisionId, shop.people.ann);
      const other = await hasty.client.callTool({ name: 'refund', arguments: { order: 'once', amount: 9 } });
      expect(textOf(other)).toContain('Approval pending');
      expect(customer.ran('refund')).toHaveLength(before);
      const racing = await Promise.all(Array.from({ length: 5 }, () => hasty.client.callTool(call)));
      expect(racing.filter(({ isError }) => isError !== true)).toHaveLength(1);
      expect(customer.ran('refund')).toHaveLength(before + 1);
    });
  });
});
