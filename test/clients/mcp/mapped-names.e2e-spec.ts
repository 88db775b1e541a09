import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeOnSqlite } from '../../support/database/database-kind';
import { CLI, TOOL_SERVER } from './mcp-clients';
import { RawConnection } from './raw-connection';
import { openShop, type Shop } from './shop';

const OPEN = { resourceArgument: 'path', resourceType: 'file', action: 'file.read' };

describeOnSqlite('The names of tools in a mapping of gov mcp', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop();
  });
  afterAll(() => shop.close());

  /** What it says on standard error when its tools are listed twice. */
  async function said(
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
    const lines = await said(['opn', 'echo', 'nothing'], ['--name', 'shop'], ofServer('one', 'open', 'echo'));
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
    expect(await said(mapped, ['--config', config])).toEqual([
      'The mapping names the tool "one__opn", which no server has: did you mean "one__open"?',
      'The mapping names the tool "open", which no server has: did you mean "one__open"?',
      'The mapping names the tool "two__open", which no server has.',
    ]);
  });
});
