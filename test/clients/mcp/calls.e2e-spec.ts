import { setTimeout as sleep } from 'node:timers/promises';
import { describeOnSqlite } from '../../support/database/database-kind';
import { type Connection, connectThroughProxy, textOf } from './mcp-clients';
import { type Customer, openShop, type Shop, WAYS } from './shop';

/** Names that the server under test has, and others. */
const CROOKED = [
  'a/../b',
  'echo ',
  'echo\n',
  'ec\u200bho',
  'e\u0301cho',
  '/echo',
  'echo/',
  'x/%2e%2e/echo',
  'echo?',
  '',
];

/** Calls at once: the gateway takes 100 requests of one caller, who may have a stream of events. */
const MANY = 90;

describeOnSqlite('Calls through gov mcp', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop();
  });
  afterAll(() => shop.close());

  describe.each(WAYS)('over %s, %s protocol', (way, era) => {
    let connection: Connection;
    let customer: Customer;

    beforeAll(async () => {
      customer = await shop.customer(`${way}-${era}`);
      const { environment, runs } = customer;
      connection = await connectThroughProxy({ way, era, runs, environment, elicitation: 'form' });
    });
    afterAll(() => connection.close());

    it('shows the tools that some arguments could make allowed', async () => {
      expect(connection.client.getProtocolEra()).toBe(era);
      const names = (await connection.client.listTools()).tools.map(({ name }) => name);
      expect(names).toEqual(['echo', 'refund', 'brief', 'limited', 'fail', 'slow', 'spoof', 'large']);
    });

    it('runs what is allowed, once, and reports its result', async () => {
      const result = await connection.client.callTool({ name: 'echo', arguments: { n: 1 } });
      expect(textOf(result)).toBe('{"n":1}');
      expect(customer.ran('echo')).toEqual([{ n: 1 }]);
      const [only] = await customer.settled('echo');
      expect(only).toMatchObject({
        outcome: 'executed',
        resourceType: 'tool',
        resourceId: 'shop/echo',
        parameters: { n: 1 },
      });
      expect(only?.result).toEqual({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/), bytes: expect.any(Number) });
    });

    it('reports what the tool calls a failure as a failure', async () => {
      expect(await connection.client.callTool({ name: 'fail' })).toMatchObject({ isError: true });
      expect(await customer.settled('fail')).toEqual([
        expect.objectContaining({ outcome: 'failed', failureReason: 'The till is empty.' }),
      ]);
    });

    it('explains what is denied, and does not run it', async () => {
      const hidden = await connection.client.callTool({ name: 'wipe' });
      expect(hidden).toMatchObject({ isError: true });
      expect(textOf(hidden)).toContain('no_policy_allows');
      const limited = await connection.client.callTool({ name: 'limited', arguments: { amount: 9 } });
      expect(textOf(limited)).toContain('if its conditions matched');
      expect([customer.ran('wipe'), customer.ran('limited')]).toEqual([[], []]);
      await connection.client.callTool({ name: 'limited', arguments: { amount: 3 } });
      expect(customer.ran('limited')).toEqual([{ amount: 3 }]);
    });

    it('runs no tool whose name could be taken for another', async () => {
      const { client } = connection;
      for (const name of CROOKED) {
        const refused = await client.callTool({ name, arguments: { crooked: name } });
        expect(refused).toMatchObject({ isError: true });
        expect(textOf(refused)).toContain('can be neither an action nor part of a resource');
      }
      expect(textOf(await client.callTool({ name: 'Echo' }))).toContain('was not run');
      expect([...CROOKED, 'Echo'].flatMap((name) => customer.ran(name))).toEqual([]);
    });

    it('passes a result on, and nothing else that a server says', async () => {
      const elicitations: unknown[] = [];
      connection.client.setRequestHandler('elicitation/create', async ({ params }) => {
        elicitations.push(params);
        return { action: 'accept', content: {} };
      });
      const result = await connection.client.callTool({ name: 'spoof' });
      expect(result).not.toHaveProperty('inputRequests');
      expect(elicitations).toEqual([]);
      expect(customer.ran('spoof')).toHaveLength(1);
      expect(await customer.settled('spoof')).toHaveLength(1);
    });

    it('passes on a result that is too large for the record, which keeps its hash and size', async () => {
      const text = textOf(await connection.client.callTool({ name: 'large', arguments: { bytes: 3_000_000 } }));
      expect(text).toHaveLength(3_000_000);
      expect(await customer.settled('large')).toEqual([
        expect.objectContaining({
          outcome: 'executed',
          result: { sha256: expect.any(String), bytes: expect.any(Number) },
        }),
      ]);
    });

    it('reads up to 16 MiB of an answer, and a gateway up to 4 MiB', async () => {
      const text = textOf(await connection.client.callTool({ name: 'large', arguments: { bytes: 12_000_000 } }));
      if (way === 'stdio') expect(text).toHaveLength(12_000_000);
      else expect(text).toContain('its answer is too large: at most 4194304 bytes are read');
    });

    it('reports a tool that the client cancels while it runs', async () => {
      const cancelling = new AbortController();
      const calling = connection.client.callTool({ name: 'slow' }, { signal: cancelling.signal });
      await customer.executionThatIs('slow', 'authorized');
      while (customer.ran('slow').length === 0) await sleep(20);
      cancelling.abort();
      await expect(calling).rejects.toThrow();
      const { failureReason } = await customer.executionThatIs('slow', 'failed');
      expect(failureReason).toContain('cancelled');
    });

    it('handles many calls at once, each with its own answer', async () => {
      const before = customer.ran('echo').length;
      const calls = Array.from({ length: MANY }, (_, n) =>
        connection.client.callTool({ name: 'echo', arguments: { n } }),
      );
      const texts = (await Promise.all(calls)).map(textOf);
      expect(texts).toEqual(Array.from({ length: MANY }, (_, n) => `{"n":${n}}`));
      expect(customer.ran('echo')).toHaveLength(before + MANY);
      expect((await customer.settled('echo')).every(({ outcome }) => outcome === 'executed')).toBe(true);
    });
  });
});
