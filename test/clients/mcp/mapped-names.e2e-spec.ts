import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeOnSqlite } from '../../support/database/database-kind';
import { CLI, TOOL_SERVER } from './mcp-clients';
import { govAnswer } from '../command-line';
import { RawConnection } from './raw-connection';
import { openShop, type Shop } from './shop';

const OPEN = { resourceArgument: 'path', resourceType: 'file', action: 'file.read' };

const LONG = 'a'.repeat(65);
const EXPECTED = 'the model APIs of many clients expect at most 64 letters, digits, "_" and "-".';

describeOnSqlite('The names of tools that model APIs refuse', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop();
  });
  afterAll(() => shop.close());

  it.each<[title: string, others: readonly string[], prefix: string]>([
    ['of one server', ['a'.repeat(64), 'a_b-C1'], ''],
    ['of several, with the names of their servers', ['a'.repeat(58), 'a_b-C1'], 'shop__'],
  ])('are said at the start, and why: %s', async (_, others, prefix) => {
    const { environment } = await shop.customer(`names-${prefix}`);
    const runs = join(shop.folder, 'named-runs');
    const server = [TOOL_SERVER, CLI, runs, 'stdio', 'legacy', ...others, LONG, 'a.b', 'a/b', 'a:b', 'a/../b'];
    const config = join(shop.folder, 'named.json');
    const entry = { command: process.execPath, args: server };
    writeFileSync(
      config,
      JSON.stringify({ mcpServers: { shop: entry, other: { ...entry, args: [...server.slice(0, 5), 'b'] } } }),
    );
    const connection =
      prefix === ''
        ? await RawConnection.open(server, environment, { words: ['--name', 'shop'] })
        : await RawConnection.open([], environment, { words: ['--config', config] });
    await connection.untilPrinted(`"${prefix}a:b"`);
    // A list says nothing twice.
    connection.send({ id: 'list', method: 'tools/list' });
    await connection.until(({ id }) => id === 'list');
    await connection.close();
    expect(connection.errors.split('\n').filter((line) => line.startsWith('The tool '))).toEqual([
      `The tool "${prefix}${LONG}" has a name of ${prefix.length + 65} characters: ${EXPECTED}`,
      ...['.', '/', ':'].map((sign) => `The tool "${prefix}a${sign}b" has "${sign}" in its name: ${EXPECTED}`),
    ]);
  });
});

describeOnSqlite('The names of tools in a mapping of gov mcp', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop();
  });
  afterAll(() => shop.close());

  /** Returns the lines of its standard error when its tools are listed twice. */
  async function errorLines(
    mapped: readonly string[],
    words: readonly string[],
    server: readonly string[] = [],
  ): Promise<string[]> {
    const { environment } = await shop.customer(`maps ${mapped.join(' ')}`);
    const map = join(shop.folder, 'mapping.json');
    writeFileSync(map, JSON.stringify({ tools: Object.fromEntries(mapped.map((name) => [name, OPEN])) }));
    const connection = await RawConnection.open(server, environment, { words: ['--map', map, ...words] });
    for (const id of ['one', 'two']) {
      connection.send({ id, method: 'tools/list' });
      await connection.until((message) => message.id === id);
    }
    await connection.close();
    return connection.errors.split('\n').filter((line) => line.includes('mapping'));
  }

  function ofServer(name: string, ...tools: readonly string[]): string[] {
    return [TOOL_SERVER, CLI, join(shop.folder, `${name}-runs`), 'stdio', 'legacy', ...tools];
  }

  it('are named once where the server has no such tool, with what was probably meant', async () => {
    const lines = await errorLines(['opn', 'echo', 'nothing'], ['--name', 'shop'], ofServer('one', 'open', 'echo'));
    expect(lines).toEqual([
      'The mapping names the tool "opn", which no server has: did you mean "open"?',
      'The mapping names the tool "nothing", which no server has.',
    ]);
  });

  it('are those of clients where there are several servers; one that does not answer may have any', async () => {
    const config = join(shop.folder, 'servers.json');
    const started = (...tools: readonly string[]): object => ({
      command: process.execPath,
      args: ofServer('several', ...tools),
    });
    const mcpServers = { one: started('open'), two: started('echo'), gone: { command: 'no-such-command' } };
    writeFileSync(config, JSON.stringify({ mcpServers }));
    const mapped = ['one__open', 'one__opn', 'open', 'two__open', 'gone__open'];
    expect(await errorLines(mapped, ['--config', config])).toEqual([
      'The mapping names the tool "one__opn", which no server has: did you mean "one__open"?',
      'The mapping names the tool "open", which no server has: did you mean "one__open"?',
      'The mapping names the tool "two__open", which no server has.',
    ]);
  });

  it.each<[title: string, mapping: object]>([
    ['of all tools', { secret: ['/path'], tools: { open: OPEN } }],
    ['of this tool', { tools: { open: { ...OPEN, secret: ['/*'] } } }],
    ['by its name', { tools: { open: { ...OPEN, resourceArgument: 'api_key' } } }],
  ])('cannot take the resource from an argument that is secret: %s', async (title, mapping) => {
    const { environment } = await shop.customer(`secret ${title}`);
    const map = join(shop.folder, 'secret.json');
    writeFileSync(map, JSON.stringify(mapping));
    expect(await govAnswer(['mcp', '--map', map, '--', 'true'], { environment })).toMatchObject({
      exitCode: 1,
      errors: `The mapping ${map} cannot be used: tools.open.resourceArgument names a secret argument, whose value must not be kept.\n`,
    });
  });
});
