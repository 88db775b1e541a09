import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { approve } from '../../approvals/support';
import { createPolicy } from '../../support/application/factories';
import { openHttpProxy } from '../../support/application/http-proxy';
import { describeOnSqlite } from '../../support/database/database-kind';
import { codeBlocks, readDocument, section } from '../../support/documents/markdown';
import { run, type ProgramRun } from '../../support/processes/shell';
import { govAnswer } from '../command-line';
import { connectThroughProxy, GOV, textOf } from './mcp-clients';
import { openShop, type Shop } from './shop';

describeOnSqlite('gov mcp', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop();
  });
  afterAll(() => shop.close());

  it('maps calls as docs/integrations.md shows', async () => {
    const customer = await shop.customer('mapped');
    const { environment, runs } = customer;
    await createPolicy(shop.app, { actions: ['file.read'], resources: ['reports/*'] });
    const [configuration, mapping] = codeBlocks(
      section(readDocument('docs/integrations.md'), '## In front of an MCP server'),
    );
    const map = join(shop.folder, 'tools.json');
    writeFileSync(map, mapping?.code ?? '');
    const args: string[] = JSON.parse(configuration?.code ?? '').mcpServers.shop.args;
    const words = args
      .slice(args.indexOf('mcp') + 1, args.lastIndexOf('--'))
      .map((word) => (word === 'tools.json' ? map : word));
    const { client, close } = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment, words });
    try {
      expect((await client.listTools()).tools).toContainEqual(expect.objectContaining({ name: 'open' }));
      const open = (input?: object): Promise<unknown> => client.callTool({ name: 'open', arguments: { ...input } });
      expect(await open({ path: 'reports/may' })).not.toHaveProperty('isError');
      for (const input of [{ path: 'secrets/may' }, { path: 'reports/../secrets' }, { path: ['reports/may'] }, {}]) {
        expect(await open(input)).toMatchObject({ isError: true });
      }
      expect(textOf(await client.callTool({ name: 'open' }))).toContain(
        'The tool open needs the argument "path", as a text or a whole number.',
      );
      expect(readFileSync(runs, 'utf8')).toBe('["open",{"path":"reports/may"}]\n');
      expect((await customer.executions('file.read')).map(({ resourceId }) => resourceId)).toEqual([
        'reports/may',
        'secrets/may',
      ]);
    } finally {
      await close();
    }
  });

  it.each(['legacy', 'modern'] as const)(
    'runs nothing while the service is away, %s protocol',
    async (era) => {
      const runs = join(shop.folder, `away-${era}`);
      const environment = { GOVERNANCE_URL: 'http://127.0.0.1:9', GOVERNANCE_API_KEY: 'any' };
      const words = ['--patience', '0', '--agent', 'bot'];
      const { client, close } = await connectThroughProxy({ way: 'stdio', era, runs, environment, words });
      try {
        const result = await client.callTool({ name: 'echo' });
        expect(result).toMatchObject({ isError: true });
        expect(textOf(result)).toContain('the governance service does not answer');
        await expect(client.listTools()).rejects.toThrow('cannot be reached');
        expect(existsSync(runs)).toBe(false);
      } finally {
        await close();
      }
    },
    300_000,
  );

  it.each([
    ['stdio', 'legacy', true],
    ['stdio', 'modern', undefined],
    ['http', 'legacy', true],
    ['http', 'modern', undefined],
  ] as const)('promises changes of resources only to clients with a handshake (%s, %s)', async (way, era, expected) => {
    const { environment, runs } = await shop.customer(`promises ${way} ${era}`);
    const { client, close } = await connectThroughProxy({ way, era, runs, environment });
    expect(client.getServerCapabilities()?.resources?.subscribe).toBe(expected);
    await close();
  });

  it('runs nothing while the service is silent', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const runs = join(shop.folder, 'silent');
    const { port } = silent.address() as AddressInfo;
    const environment = { GOVERNANCE_URL: `http://127.0.0.1:${port}`, GOVERNANCE_API_KEY: 'any' };
    const words = ['--patience', '0', '--timeout', '1', '--agent', 'bot'];
    const { client, close } = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment, words });
    try {
      const result = await client.callTool({ name: 'echo' });
      expect(result).toMatchObject({ isError: true });
      expect(textOf(result)).toContain('did not answer within 1 seconds');
      expect(existsSync(runs)).toBe(false);
    } finally {
      await close();
      silent.closeAllConnections();
      silent.close();
    }
  });

  it('sends its headers to no other server', async () => {
    const received: unknown[] = [];
    const other = createServer((request, response) => {
      received.push(request.headers);
      response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const place = `http://127.0.0.1:${(other.address() as AddressInfo).port}/mcp`;
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(307, { Location: request.url === '/mcp' ? '/mcp/' : place }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    try {
      const { environment } = await shop.customer('redirected');
      const words = [GOV, 'mcp', '--url', own, '--header', 'X-Token: secret'];
      const { exitCode, errors } = await run(process.execPath, words, { environment });
      expect([exitCode, errors]).toEqual([1, expect.stringContaining(`redirects to ${place}`)]);
      expect(received).toEqual([]);
    } finally {
      server.close();
      other.close();
    }
  });

  it('ends its session with a server over HTTP after a failure', async () => {
    const methods: string[] = [];
    const server = createServer((request, response) => {
      methods.push(String(request.method));
      void text(request).then((body) => {
        if (body === '') return response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
        const { id, method, params } = JSON.parse(body);
        if (id === undefined) return response.writeHead(202).end();
        if (method === 'tools/call') return response.writeHead(500).end();
        const { protocolVersion } = params ?? {};
        const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'shop', version: '1' } };
        const answer = method === 'initialize' ? { result } : { error: { code: -32601, message: 'No such method.' } };
        response.writeHead(200, { 'Content-Type': 'application/json', 'Mcp-Session-Id': 'one' });
        return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { environment, runs } = await shop.customer('failing');
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const { client, close } = await connectThroughProxy({
      way: 'stdio',
      era: 'legacy',
      runs,
      environment,
      server: own,
    });
    try {
      expect(await client.callTool({ name: 'echo' })).toMatchObject({ isError: true });
      while (!methods.includes('DELETE')) await sleep(20);
    } finally {
      await close();
      server.closeAllConnections();
      server.close();
    }
  });

  it('holds a call for 45 seconds by default, as its help says', async () => {
    const { output } = await govAnswer(['mcp', '--help'], { environment: {} });
    expect(output).toMatch(/--hold <seconds> [^]*?\(default:\s+45\)/);
    const customer = await shop.customer('held');
    const service = await openHttpProxy(shop.app.url);
    const environment = { ...customer.environment, GOVERNANCE_URL: service.url };
    const { runs } = customer;
    const { client, close } = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment });
    try {
      const calling = client.callTool({ name: 'refund', arguments: { order: 'default' } });
      const { decisionId } = await customer.executionThatIs('refund', 'pending_approval');
      const waits = (): string[] => service.received.flatMap(({ path }) => /wait=(\d+)/.exec(path)?.[1] ?? []);
      while (waits().length === 0) await sleep(20);
      await approve(shop.app, decisionId, shop.people.ann);
      expect(textOf(await calling)).toBe('{"order":"default"}');
      expect(waits()).toEqual(['45']);
    } finally {
      await close();
      service.close();
    }
  });

  it('says what is wrong with its arguments', async () => {
    const { environment } = await shop.customer('words');
    const mcp = (...words: string[]): Promise<ProgramRun> => govAnswer(['mcp', ...words], { environment });
    expect(await mcp()).toMatchObject({ exitCode: 1, errors: expect.stringContaining('gov mcp -- ') });
    for (const content of ['null', '{}', '{"servers":{"shop":null}}']) {
      const lock = join(shop.folder, 'other.lock');
      writeFileSync(lock, content);
      const other = `The lock ${lock} cannot be used: it is not what gov mcp pin writes. Write it by gov mcp pin --lock ${lock}.\n`;
      expect((await mcp('--lock', lock, '--', 'true')).errors).toBe(other);
    }
    for (const option of ['--map', '--config', '--lock']) {
      const file = join(shop.folder, 'twice.json');
      writeFileSync(file, '\uFEFF{"tools":{"open":{}},\n\t"tools":{}}');
      const { exitCode, errors } = await mcp(option, file, ...(option === '--config' ? [] : ['--', 'true']));
      expect([option, exitCode, errors]).toEqual([
        option,
        1,
        expect.stringContaining(`${file} cannot be used: the name "tools" is given twice at line 2, column 2`),
      ]);
    }
    expect(await mcp('--lock', 'nowhere.lock', '--', 'true')).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('The lock nowhere.lock cannot be used'),
    });
    expect(await mcp('--', 'no-such-command')).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('cannot be reached'),
    });
    for (const name of ['a/b', '..', 'https:/', 'a b', 'a\n', '', 'caf\u00e9']) {
      expect(await mcp('--name', name, '--', 'true')).toMatchObject({
        exitCode: 1,
        errors: expect.stringContaining("A server's name is"),
      });
    }
    for (const [option, value, least, most = 9_999] of [
      ['--timeout', '0', 1],
      ['--timeout', '-1', 1],
      ['--timeout', '1.5', 1],
      ['--patience', '10000', 0],
      ['--hold', 'long', 0],
      ['--call-timeout', '0', 1, 86_400],
      ['--call-timeout', '86401', 1, 86_400],
    ]) {
      expect(await mcp(`${option}=${value}`, '--', 'true')).toMatchObject({
        exitCode: 1,
        errors: expect.stringMatching(
          new RegExp(`'${option} <seconds>'.* is invalid\\. .* from ${least} to ${most}\\.`),
        ),
      });
    }
    expect(await mcp('--map', 'nowhere.json', '--', 'true')).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('nowhere.json'),
    });
  });
});
