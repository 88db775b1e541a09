import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { codeBlocks, readDocument, ROOT, section } from '../../support/documents/markdown';
import { CLI, connectThroughProxy, type McpClient, textOf, TOOL_SERVER } from './mcp-clients';
import { govAnswer } from '../command-line';
import { openShop, type Shop } from './shop';

const SAMPLE_URL = 'http://127.0.0.1:3000';

interface Configuration {
  readonly mcpServers: {
    readonly shop: { readonly command: string; readonly args: readonly string[]; readonly env: NodeJS.ProcessEnv };
  };
}

describeOnSqlite('gov mcp at its first start', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop();
  });
  afterAll(() => shop.close());

  it('works as docs/integrations.md configures it', async () => {
    const blocks = codeBlocks(section(readDocument('docs/integrations.md'), '## In front of an MCP server'));
    const [configured = '', mapping = ''] = blocks
      .filter(({ language }) => language === 'json')
      .map(({ code }) => code);
    const { command, args, env } = (JSON.parse(configured) as Configuration).mcpServers.shop;
    expect(env).toEqual({ GOVERNANCE_URL: SAMPLE_URL, GOVERNANCE_API_KEY: 'agk_…' });
    const runs = join(shop.folder, 'configured');
    const server = [
      `process.argv.push(...${JSON.stringify([CLI, runs, 'stdio', 'legacy', 'open', 'refund'])});`,
      `await import('${pathToFileURL(TOOL_SERVER).href}');`,
    ];
    writeFileSync(join(shop.folder, 'shop-server.mjs'), server.join('\n'));
    writeFileSync(join(shop.folder, 'tools.json'), mapping);
    const { id } = await createAgent(shop.app, { name: 'configured', capabilities: ['file.read', 'payment.refund'] });
    await createPolicy(shop.app, { actions: ['file.read'], resources: ['file/a'], resourceTypes: ['file'] });
    const { secret } = await issueKey(shop.app, { name: 'configured', scopes: ['execute'], agentId: id });

    const requireFromCli = createRequire(join(CLI, 'package.json'));
    const { Client } = requireFromCli('@modelcontextprotocol/client');
    const { StdioClientTransport } = requireFromCli('@modelcontextprotocol/client/stdio');
    const client: McpClient = new Client({ name: 'test', version: '1' });
    await client.connect(
      new StdioClientTransport({
        ...{ command, cwd: shop.folder, stderr: 'ignore' },
        args: args.map((word) => (word === '/path/to/clone' ? ROOT : word)),
        env: { GOVERNANCE_URL: shop.app.url, GOVERNANCE_API_KEY: secret },
      }),
    );
    try {
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['open']);
      expect(textOf(await client.callTool({ name: 'open', arguments: { path: 'a' } }))).toBe('{"path":"a"}');
    } finally {
      await client.close();
    }
  }, 300_000);

  it('does not start with a key that the service does not know, and says which key that is', async () => {
    const runs = join(shop.folder, 'unknown-key');
    const words = ['mcp', '--name', 'shop', '--', process.execPath, TOOL_SERVER, CLI, runs, 'stdio', 'legacy'];
    const own = { GOVERNANCE_URL: shop.app.url, XDG_CONFIG_HOME: shop.folder };
    for (const GOVERNANCE_API_KEY of ['wrong', '', undefined]) {
      const environment = { ...own, GOVERNANCE_API_KEY };
      const { exitCode, output, errors } = await govAnswer(words, { environment });
      expect([exitCode, output, errors]).toEqual([1, '', expect.stringContaining('GOVERNANCE_API_KEY')]);
    }
    expect(existsSync(runs)).toBe(false);
  });

  it('does not start with a key that may not execute, and says what it may', async () => {
    const { secret } = await issueKey(shop.app, { name: 'reader', scopes: ['read', 'review'] });
    const runs = join(shop.folder, 'reader');
    const words = ['mcp', '--name', 'shop', '--', process.execPath, TOOL_SERVER, CLI, runs, 'stdio', 'legacy'];
    const environment = { GOVERNANCE_URL: shop.app.url, GOVERNANCE_API_KEY: secret };
    const { exitCode, errors } = await govAnswer(words, { environment });
    expect([exitCode, errors]).toEqual([
      1,
      'gov mcp does not start: the key lacks the scope "execute", without which it can call nothing; it has only read, review. The key is the one in GOVERNANCE_API_KEY.\n',
    ]);
  });

  it('names the key where the service no longer knows it', async () => {
    const { id } = await createAgent(shop.app, { name: 'revoked', capabilities: ['echo'] });
    const key = await issueKey(shop.app, { name: 'revoked', scopes: ['execute'], agentId: id });
    const environment = { GOVERNANCE_URL: shop.app.url, GOVERNANCE_API_KEY: key.secret };
    const runs = join(shop.folder, 'revoked');
    const { client, close } = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment });
    try {
      await send(shop.app, 'POST', `/api/v1/api-keys/${key.id}/revoke`, { body: {} });
      const called = await client.callTool({ name: 'echo' });
      expect([called.isError, textOf(called)]).toEqual([
        true,
        expect.stringContaining('the one in GOVERNANCE_API_KEY'),
      ]);
      await expect(client.listTools()).rejects.toThrow('the one in GOVERNANCE_API_KEY');
    } finally {
      await close();
    }
  });
});
