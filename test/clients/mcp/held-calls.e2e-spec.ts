import { setTimeout as sleep } from 'node:timers/promises';
import { approve, execution, reject } from '../../approvals/support';
import { send } from '../../support/application/send';
import { openTcpGate } from '../../support/application/tcp-gate';
import { describeOnSqlite } from '../../support/database/database-kind';
import { type Connection, connectThroughProxy, textOf } from './mcp-clients';
import { type Customer, openShop, type Shop, WAYS } from './shop';

describeOnSqlite('Calls through gov mcp that need an approval', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop();
  });
  afterAll(() => shop.close());

  it('withdraws nothing that another process has opened', async () => {
    const customer = await shop.customer('opened elsewhere');
    const { environment, runs } = customer;
    const options = { way: 'stdio', era: 'legacy', runs, environment } as const;
    const words = ['--run', 'shared'];
    const { client, close } = await connectThroughProxy({ ...options, words });
    const other = await connectThroughProxy({ ...options, words: [...words, '--hold', '0'] });
    const call = { name: 'refund', arguments: { order: 'shared' } };
    expect(textOf(await other.client.callTool(call))).toContain('Approval pending');
    const { id, decisionId } = await customer.executionThatIs('refund', 'pending_approval');
    const cancelling = new AbortController();
    const onprogress = (): void => cancelling.abort();
    await expect(client.callTool(call, { signal: cancelling.signal, onprogress })).rejects.toThrow();
    await client.listTools();
    await sleep(500);
    expect((await execution(shop.app, id)).outcome).toBe('pending_approval');
    await approve(shop.app, decisionId, shop.people.ann);
    expect(textOf(await other.client.callTool(call))).toBe('{"order":"shared"}');
    expect(await customer.executions('refund')).toHaveLength(1);
    await Promise.all([close(), other.close()]);
  });

  it('says to equal calls at once, of which one ran, that only the hash of its result is kept', async () => {
    const customer = await shop.customer('equal at once');
    const { environment, runs } = customer;
    const { client, close } = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment });
    const call = { name: 'refund', arguments: { order: 'equal' } };
    const calls = Array.from({ length: 3 }, () => client.callTool(call));
    const { decisionId } = await customer.executionThatIs('refund', 'pending_approval');
    await approve(shop.app, decisionId, shop.people.ann);
    const texts = (await Promise.all(calls)).map(textOf);
    const hash =
      /^The service, or an equal request, has carried it out\. Only the hash of its result is kept: \{.*"sha256"/;
    expect(texts.filter((text) => text === '{"order":"equal"}')).toHaveLength(1);
    expect(texts.filter((text) => hash.test(text))).toHaveLength(2);
    await close();
  });

  it('withdraws nothing of which another call was told that it goes through once it is approved', async () => {
    const customer = await shop.customer('promised');
    const { environment, runs } = customer;
    const words = ['--hold', '2'];
    const { client, close } = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment, words });
    const call = { name: 'refund', arguments: { order: 'promised' } };
    const first = client.callTool(call);
    const { id } = await customer.executionThatIs('refund', 'pending_approval');
    await sleep(500);
    const cancelling = new AbortController();
    const second = expect(client.callTool(call, { signal: cancelling.signal })).rejects.toThrow();
    expect(textOf(await first)).toContain('once it is approved, that call goes through');
    cancelling.abort();
    await second;
    await client.listTools();
    await sleep(500);
    expect((await execution(shop.app, id)).outcome).toBe('pending_approval');
    await close();
  });

  it('uses up no approval for a call that the client cancels while it asks', async () => {
    const customer = await shop.customer('hurried');
    const { environment, runs } = customer;
    const { hostname, port } = new URL(String(environment['GOVERNANCE_URL']));
    const gate = await openTcpGate(hostname, Number(port));
    const { client, close } = await connectThroughProxy({
      ...{ way: 'stdio', era: 'legacy', runs, words: ['--hold', '0'] },
      environment: { ...environment, GOVERNANCE_URL: `http://127.0.0.1:${gate.port}` },
    });
    const call = { name: 'refund', arguments: { order: 'hurried' } };
    await client.callTool(call);
    await approve(shop.app, (await customer.executionThatIs('refund', 'pending_approval')).decisionId, shop.people.ann);
    gate.slow(300);
    const cancelling = new AbortController();
    const pendingCall = client.callTool(call, { signal: cancelling.signal });
    const cancelled = expect(pendingCall).rejects.toThrow();
    await sleep(100);
    cancelling.abort();
    await cancelled;
    await sleep(2_000);
    gate.slow(0);
    expect(textOf(await client.callTool(call))).toBe('{"order":"hurried"}');
    expect(await customer.executions('refund')).toEqual([expect.objectContaining({ outcome: 'executed' })]);
    await close();
    await gate.close();
  });

  it('reports a progress that rises, also after it has asked the user', async () => {
    const { environment, runs } = await shop.customer('rising');
    const { client, close } = await connectThroughProxy({
      ...{ way: 'stdio', era: 'legacy', runs, environment, words: ['--hold', '0'], elicitation: 'form' },
    });
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} }));
    const reached: number[] = [];
    const onprogress = ({ progress }: { progress: number }): void => void reached.push(progress);
    await client.callTool({ name: 'refund', arguments: { order: 'rising' } }, { onprogress });
    expect(reached).toEqual([1, 2]);
    await close();
  });

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
        connectThroughProxy({ ...options, words: ['--hold', '60'] }),
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
      const { id, decisionId } = await customer.executionThatIs('refund', 'pending_approval');
      expect(customer.ran('refund')).toEqual([]);
      await approve(shop.app, decisionId, shop.people.ann);
      expect(textOf(await calling)).toBe('{"order":"held"}');
      expect(customer.ran('refund')).toEqual([{ order: 'held' }]);
      expect(progress).toContain(`refund waits for the decision ${String(decisionId)}.`);
      // The gateway reports after it has answered.
      expect(await customer.executionThatIs('refund', 'executed')).toMatchObject({ id });
    });

    it('answers when it is rejected, and when nobody decides in time', async () => {
      const calling = holding.client.callTool({ name: 'refund', arguments: { order: 'rejected' } });
      const { decisionId } = await customer.executionThatIs('refund', 'pending_approval');
      await reject(shop.app, decisionId, shop.people.ann, `Too much.${'!'.repeat(600)}`);
      const words = `The words of the reviewer who rejected it: "Too much.${'!'.repeat(491)}… (cut)"`;
      expect(textOf(await calling)).toMatch(/was rejected/);
      expect(textOf(await calling)).toContain(words);
      expect(textOf(await holding.client.callTool({ name: 'refund', arguments: { order: 'rejected' } }))).toContain(
        words,
      );
      const late = await holding.client.callTool({ name: 'brief' });
      expect(textOf(late)).toContain('in time');
      expect([customer.ran('refund').length, customer.ran('brief')]).toEqual([1, []]);
    });

    it('withdraws the request of a call that the client cancels', async () => {
      const cancelling = new AbortController();
      const call = { name: 'refund', arguments: { order: 'cancelled' } };
      const calling = holding.client.callTool(call, { signal: cancelling.signal });
      await customer.executionThatIs('refund', 'pending_approval');
      cancelling.abort();
      await expect(calling).rejects.toThrow();
      await customer.executionThatIs('refund', 'cancelled');
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
      const { decisionId } = await customer.executionThatIs('refund', 'pending_approval');
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

    it('names the arguments that the reviewer would approve instead, with which it then goes through', async () => {
      const calling = holding.client.callTool({ name: 'refund', arguments: { order: 'all' } });
      const { decisionId } = await customer.executionThatIs('refund', 'pending_approval');
      const body = { approverId: shop.people.ann.id, instead: { parameters: { order: 'half' } } };
      await send(shop.app, 'POST', `/api/v1/decisions/${String(decisionId)}/reject`, { body });
      const words = 'What the reviewer would approve instead, which may be executed once: {"order":"half"}';
      expect(textOf(await calling)).toContain(words);
      expect(textOf(await holding.client.callTool({ name: 'refund', arguments: { order: 'all' } }))).toContain(words);
      const half = await holding.client.callTool({ name: 'refund', arguments: { order: 'half' } });
      expect(textOf(half)).toBe('{"order":"half"}');
    });

    it('lets an approval be used once, and only for what was approved', async () => {
      hasty.client.setRequestHandler('elicitation/create', async () => ({ action: 'decline' }));
      const before = customer.ran('refund').length;
      const call = { name: 'refund', arguments: { order: 'once' } };
      expect(textOf(await hasty.client.callTool(call))).toContain('call it again with the same arguments'.slice(5));
      await approve(
        shop.app,
        (await customer.executionThatIs('refund', 'pending_approval')).decisionId,
        shop.people.ann,
      );
      const other = await hasty.client.callTool({ name: 'refund', arguments: { order: 'once', amount: 9 } });
      expect(textOf(other)).toContain('Approval pending');
      expect(customer.ran('refund')).toHaveLength(before);
      const racing = await Promise.all(Array.from({ length: 5 }, () => hasty.client.callTool(call)));
      // One runs the tool; the others get what came of it, or ask anew where the approval was used before they asked.
      const isDone = ({ isError }: (typeof racing)[number]): boolean => isError !== true;
      expect(racing.some(isDone)).toBe(true);
      for (const anew of racing.filter((one) => !isDone(one))) expect(textOf(anew)).toContain('Approval pending');
      expect(customer.ran('refund')).toHaveLength(before + 1);
    });
  });
});
