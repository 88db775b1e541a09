import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { approve } from '../../approvals/support';
import { describeOnSqlite } from '../../support/database/database-kind';
import { connectThroughProxy, textOf } from './mcp-clients';
import { govAnswer } from '../command-line';
import { type Customer, openShop, type Shop } from './shop';

const LARGE = 'ü'.repeat(40_000);
const SEALED = { $secret: expect.stringMatching(/^[\w-]{22}$/) };

describeOnSqlite('Secrets in calls through gov mcp', () => {
  let shop: Shop;
  let customer: Customer;
  let map: string;

  beforeAll(async () => {
    shop = await openShop();
    customer = await shop.customer('keeper');
    map = join(shop.folder, 'secrets.json');
    writeFileSync(map, JSON.stringify({ secret: ['/pin'], tools: { refund: { secret: ['/card/*'] } } }));
  });
  afterAll(() => shop.close());

  it('are not kept, and reach the tool', async () => {
    const words = ['--name', 'shop', '--map', map];
    const connection = await connectThroughProxy({ way: 'stdio', era: 'modern', ...customer, words });
    const input = { pin: 1234, card: { number: '4111' }, token: 'of-keeper', note: LARGE, amount: 7 };
    const call = connection.client.callTool({ name: 'refund', arguments: input });
    const pending = await customer.executionThatIs('refund', 'pending_approval');
    const digest = { $hmac: expect.stringMatching(/^[0-9a-f]{32}$/), bytes: 80_000 };
    expect(pending.parameters).toEqual({
      pin: SEALED,
      card: { number: SEALED },
      token: SEALED,
      note: digest,
      amount: 7,
    });
    await approve(shop.app, pending.decisionId, shop.people.ann);
    expect((await call).isError).toBeUndefined();
    expect(customer.ran('refund')).toEqual([input]);

    await connection.client.callTool({ name: 'echo', arguments: { pin: 1, card: { number: 2 } } });
    const [echoed] = await customer.executions('echo');
    expect(echoed?.parameters).toEqual({ pin: SEALED, card: { number: 2 } });
    await connection.close();
  });

  it('are not hashed as another text: one with half of a surrogate pair is refused, however long it is', async () => {
    const words = ['--name', 'shop'];
    const connection = await connectThroughProxy({ way: 'stdio', era: 'modern', ...customer, words });
    for (const note of ['\ud800', `${LARGE}\ud800`]) {
      const result = await connection.client.callTool({ name: 'echo', arguments: { note } });
      expect([result.isError, textOf(result)]).toEqual([true, expect.stringContaining('half of a surrogate pair')]);
    }
    await connection.close();
  });

  it('cannot be passed off as a hash of a text', async () => {
    const connection = await connectThroughProxy({
      way: 'stdio',
      era: 'modern',
      ...customer,
      words: ['--name', 'shop'],
    });
    const input = { list: [{ $sha256: createHash('sha256').update(LARGE).digest('hex'), bytes: 80_000 }] };
    const result = await connection.client.callTool({ name: 'echo', arguments: input });
    expect([result.isError, textOf(result)]).toEqual([true, expect.stringContaining('"$sha256"')]);
    expect(customer.ran('echo')).not.toContainEqual(input);
    await connection.close();
  });

  it('become hashes from --digest-above on, and where a question would be too large', async () => {
    const words = ['--name', 'shop', '--digest-above', '1000'];
    const connection = await connectThroughProxy({ way: 'stdio', era: 'modern', ...customer, words });
    const lines = Array.from({ length: 2_500 }, (_, index) => `${index} ${'x'.repeat(400)}`);
    const input = { lines, short: 'y'.repeat(1000), long: 'y'.repeat(1001) };
    expect((await connection.client.callTool({ name: 'large', arguments: input })).isError).toBeUndefined();
    const [execution] = await customer.executions('large');
    const digest = { $hmac: expect.any(String), bytes: expect.any(Number) };
    // The largest come first: those with a number of four digits, and both texts next to the list.
    const expected = lines.map((line, index) => (index < 1_000 ? line : digest));
    expect(execution?.parameters).toEqual({ lines: expected, short: digest, long: digest });
    expect(customer.ran('large')).toEqual([input]);
    await connection.close();
  });

  it.each([
    [{ secret: ['pin'] }, 'secret[0] must be a JSON Pointer'],
    [{ tools: { echo: { secret: '/pin' } } }, 'tools.echo.secret must be a list'],
    [
      { secret: ['/a'], tools: { echo: { secret: Array.from({ length: 10 }, (_, n) => `/${n}`) } } },
      'at most 10 pointers',
    ],
  ])('of a mapping have to be pointers: %j', async (mapping, fault) => {
    const file = join(shop.folder, 'faulty.json');
    writeFileSync(file, JSON.stringify(mapping));
    const { exitCode, errors } = await govAnswer(['mcp', '--map', file, '--', 'node'], {
      environment: customer.environment,
    });
    expect([exitCode, errors]).toEqual([1, expect.stringContaining(fault)]);
  });
});
