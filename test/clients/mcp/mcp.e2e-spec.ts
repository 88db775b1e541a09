import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionResponse } from '../../../src/executions/dto/execution.response';
import { approve, company, execution, EXECUTIONS, reject, type Company } from '../../approvals/support';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { codeBlocks, readDocument, section } from '../../support/documents/markdown';
import { send } from '../../support/application/send';
import { run } from '../../support/processes/shell';
import { buildCommandLine } from '../command-line';
import { type Connection, connectThroughProxy, type Era, GOV, textOf, type Way } from './mcp-clients';

const SAMPLE: [Way, Era][] = [
  ['stdio', 'legacy'],
  ['http', 'modern'],
];
const REST: [Way, Era][] = [
  ['stdio', 'modern'],
  ['http', 'legacy'],
];
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
/** MCP_IN_FULL=true tries every transport in both eras of the protocol. */
const WAYS = process.env['MCP_IN_FULL'] === 'true' ? [...SAMPLE, ...REST] : SAMPLE;

describeOnSqlite('gov mcp', () => {
  let app: TestApp;
  let people: Company;
  let folder: string;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    people = await company(app);
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-'));
    const shop = { resources: ['tool/shop/*'], resourceTypes: ['tool'] };
    await createPolicy(app, { ...shop, actions: ['echo', 'fail', 'slow', 'spoof', 'large'] });

    await createPolicy(app, {
      ...shop,
      actions: ['limited'],
      conditions: [{ parameter: '/amount', op: 'lt', value: 5 }],
    });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(app, { ...shop, effect: 'require_approval', actions: ['refund'], approval });
    const short = { ...approval, decideWithin: 'PT1S' };
    await createPolicy(app, { ...shop, effect: 'require_approval', actions: ['brief'], approval: short });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  /** A separate agent for each connection, and the outcomes of its requests. */
  async function shopper(name: string): Promise<{ environment: NodeJS.ProcessEnv; asked: Asked; runs: string }> {
    const capabilities = [
      'file.read',
      'echo',
      'fail',
      'slow',
      'spoof',
      'large',
      'limited',
      'refund',
      'brief',
      'wipe',
      'open',
    ];
    const { id } = await createAgent(app, { name, capabilities });
    const { secret } = await issueKey(app, { name, scopes: ['execute'], agentId: id });
    const asked: Asked = async (action) =>
      (await send(app, 'GET', `${EXECUTIONS}?agentId=${id}&action=${action}&limit=1000`)).body.data;
    return { environment: { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret }, asked, runs: join(folder, name) };
  }

  /** The newest request for an action that is in this state; it waits until there is one. */
  async function asked(of: Asked, action: string, outcome: string): Promise<ExecutionResponse> {
    for (let looks = 0; looks < 1_500; looks += 1) {
      const found = (await of(action)).find((one) => one.outcome === outcome);
      if (found !== undefined) return found;
      await sleep(20);
    }
    throw new Error(`There is no ${action} that is ${outcome}: ${JSON.stringify(await of(action))}`);
  }

  describe.each(WAYS)('over %s, %s protocol', (way, era) => {
    let holding: Connection;
    let hasty: Connection;
    let of: Asked;
    let runs: string;

    beforeAll(async () => {
      const { environment, asked: all, runs: file } = await shopper(`${way}-${era}`);
      [of, runs] = [all, file];
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

    function ran(name: string): unknown[] {
      if (!existsSync(runs)) return [];
      const lines = readFileSync(runs, 'utf8').split('\n').filter(Boolean);
      return lines.map((line) => JSON.parse(line)).flatMap(([tool, given]) => (tool === name ? [given] : []));
    }

    it('shows the tools that some arguments could make allowed', async () => {
      expect(holding.client.getProtocolEra()).toBe(era);
      const names = (await holding.client.listTools()).tools.map(({ name }) => name);
      expect(names).toEqual(['echo', 'refund', 'brief', 'limited', 'fail', 'slow', 'spoof', 'large']);
    });

    it('runs what is allowed, once, and reports its result', async () => {
      const result = await holding.client.callTool({ name: 'echo', arguments: { n: 1 } });
      expect(textOf(result)).toBe('{"n":1}');
      expect(ran('echo')).toEqual([{ n: 1 }]);
      const [only] = await of('echo');
      expect(only).toMatchObject({
        outcome: 'executed',
        resourceType: 'tool',
        resourceId: 'shop/echo',
        parameters: { n: 1 },
      });
      expect(only?.result).toMatchObject({ content: [{ type: 'text', text: '{"n":1}' }] });
    });

    it('reports what the tool calls a failure as a failure', async () => {
      expect(await holding.client.callTool({ name: 'fail' })).toMatchObject({ isError: true });
      expect(await of('fail')).toEqual([
        expect.objectContaining({ outcome: 'failed', failureReason: 'The till is empty.' }),
      ]);
    });

    it('explains what is denied, and does not run it', async () => {
      const hidden = await holding.client.callTool({ name: 'wipe' });
      expect(hidden).toMatchObject({ isError: true });
      expect(textOf(hidden)).toContain('no_policy_allows');
      const limited = await holding.client.callTool({ name: 'limited', arguments: { amount: 9 } });
      expect(textOf(limited)).toContain('but for its conditions');
      expect([ran('wipe'), ran('limited')]).toEqual([[], []]);
      await holding.client.callTool({ name: 'limited', arguments: { amount: 3 } });
      expect(ran('limited')).toEqual([{ amount: 3 }]);
    });

    it('runs no tool whose name could be taken for another', async () => {
      const { client } = holding;
      for (const name of CROOKED) {
        const refused = await client.callTool({ name, arguments: { crooked: name } });
        expect(refused).toMatchObject({ isError: true });
        expect(textOf(refused)).toContain('can be neither an action nor part of a resource');
      }
      expect(textOf(await client.callTool({ name: 'Echo' }))).toContain('was not run');
      expect([...CROOKED, 'Echo'].flatMap(ran)).toEqual([]);
    });

    it('passes a result on, and nothing else that a server says', async () => {
      const asked: unknown[] = [];
      hasty.client.setRequestHandler('elicitation/create', async ({ params }) => {
        asked.push(params);
        return { action: 'accept', content: {} };
      });
      const result = await hasty.client.callTool({ name: 'spoof' });
      expect(result).not.toHaveProperty('inputRequests');
      expect(asked).toEqual([]);
      expect(ran('spoof')).toHaveLength(1);
      expect(await of('spoof')).toHaveLength(1);
    });

    it('passes on a result that is too large for the record, in which only the outcome is kept', async () => {
      expect(textOf(await holding.client.callTool({ name: 'large' }))).toHaveLength(12_000_000);
      expect(await of('large')).toEqual([expect.objectContaining({ outcome: 'executed', result: null })]);
    });

    it('holds a call until it is approved', async () => {
      const progress: unknown[] = [];
      const call = { name: 'refund', arguments: { order: 'held' } };
      const calling = holding.client.callTool(call, { onprogress: ({ message }) => progress.push(message) });
      const { id, decisionId } = await asked(of, 'refund', 'pending_approval');
      expect(ran('refund')).toEqual([]);
      await approve(app, decisionId, people.ann);
      expect(textOf(await calling)).toBe('{"order":"held"}');
      expect(ran('refund')).toEqual([{ order: 'held' }]);
      expect(progress).toContain(`refund waits for the decision ${String(decisionId)}.`);
      expect(await execution(app, id)).toMatchObject({ outcome: 'executed' });
    });

    it('answers when it is rejected, and when nobody decides in time', async () => {
      const calling = holding.client.callTool({ name: 'refund', arguments: { order: 'rejected' } });
      const { decisionId } = await asked(of, 'refund', 'pending_approval');
      await reject(app, decisionId, people.ann);
      expect(textOf(await calling)).toContain('was rejected');
      const late = await holding.client.callTool({ name: 'brief' });
      expect(textOf(late)).toContain('in time');
      expect([ran('refund').length, ran('brief')]).toEqual([1, []]);
    });

    it('withdraws the request of a call that the client cancels', async () => {
      const cancelling = new AbortController();
      const call = { name: 'refund', arguments: { order: 'cancelled' } };
      const calling = holding.client.callTool(call, { signal: cancelling.signal });
      await asked(of, 'refund', 'pending_approval');
      cancelling.abort();
      await expect(calling).rejects.toThrow();
      await asked(of, 'refund', 'cancelled');
      expect(ran('refund')).toHaveLength(1);
    });

    it('reports a tool that the client cancels while it runs', async () => {
      const cancelling = new AbortController();
      const calling = holding.client.callTool({ name: 'slow' }, { signal: cancelling.signal });
      await asked(of, 'slow', 'authorized');
      while (ran('slow').length === 0) await sleep(20);
      cancelling.abort();
      await expect(calling).rejects.toThrow();
      const { failureReason } = await asked(of, 'slow', 'failed');
      expect(failureReason).toContain('cancelled');
    });

    it("asks the client after waiting for a while; the client's answer approves nothing", async () => {
      const messages: string[] = [];
      hasty.client.setRequestHandler('elicitation/create', async ({ params }) => {
        messages.push(params.message);
        return { action: 'accept', content: {} };
      });
      const before = ran('refund').length;
      const call = { name: 'refund', arguments: { order: 'asked' } };
      const unapproved = await hasty.client.callTool(call);
      const { decisionId } = await asked(of, 'refund', 'pending_approval');
      expect(messages).toEqual([expect.stringContaining(`gov approve ${String(decisionId)}`)]);
      expect(textOf(unapproved)).toContain('Approval pending');
      expect(ran('refund')).toHaveLength(before);
      hasty.client.setRequestHandler('elicitation/create', async () => {
        await approve(app, decisionId, people.ann);
        return { action: 'accept', content: {} };
      });
      expect(textOf(await hasty.client.callTool(call))).toBe('{"order":"asked"}');
      expect(ran('refund')).toHaveLength(before + 1);
    });

    it('lets an approval be used once, and only for what was approved', async () => {
      hasty.client.setRequestHandler('elicitation/create', async () => ({ action: 'decline' }));
      const before = ran('refund').length;
      const call = { name: 'refund', arguments: { order: 'once' } };
      expect(textOf(await hasty.client.callTool(call))).toContain('call it again with the same arguments'.slice(5));
      await approve(app, (await asked(of, 'refund', 'pending_approval')).decisionId, people.ann);
      const other = await hasty.client.callTool({ name: 'refund', arguments: { order: 'once', amount: 9 } });
      expect(textOf(other)).toContain('Approval pending');
      expect(ran('refund')).toHaveLength(before);
      const racing = await Promise.all(Array.from({ length: 5 }, () => hasty.client.callTool(call)));
      expect(racing.filter(({ isError }) => isError !== true)).toHaveLength(1);
      expect(ran('refund')).toHaveLength(before + 1);
    });

    it('handles a hundred calls at once, each with its own answer', async () => {
      const before = ran('echo').length;
      const calls = Array.from({ length: 100 }, (_, n) => holding.client.callTool({ name: 'echo', arguments: { n } }));
      const texts = (await Promise.all(calls)).map(textOf);
      expect(texts).toEqual(Array.from({ length: 100 }, (_, n) => `{"n":${n}}`));
      expect(ran('echo')).toHaveLength(before + 100);
      expect((await of('echo')).every(({ outcome }) => outcome === 'executed')).toBe(true);
    });
  });

  it('is configured as docs/integrations.md shows, including the mapping', async () => {
    const { environment, asked: of, runs } = await shopper('mapped');
    await createPolicy(app, { actions: ['file.read'], resources: ['reports/*'] });
    const [configuration, mapping] = codeBlocks(
      section(readDocument('docs/integrations.md'), '## In front of an MCP server'),
    );
    const map = join(folder, 'tools.json');
    writeFileSync(map, mapping?.code ?? '');
    const { args } = JSON.parse(configuration?.code ?? '').mcpServers.shop;
    const words = args.slice(1, args.indexOf('--')).map((word: string) => (word === 'tools.json' ? map : word));
    const { client, close } = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment, words });
    try {
      expect((await client.listTools()).tools).toContainEqual(expect.objectContaining({ name: 'open' }));
      const open = (given?: object): Promise<unknown> => client.callTool({ name: 'open', arguments: { ...given } });
      expect(await open({ path: 'reports/may' })).not.toHaveProperty('isError');
      for (const given of [{ path: 'secrets/may' }, { path: 'reports/../secrets' }, { path: ['reports/may'] }, {}]) {
        expect(await open(given)).toMatchObject({ isError: true });
      }
      expect(readFileSync(runs, 'utf8')).toBe('["open",{"path":"reports/may"}]\n');
      expect((await of('file.read')).map(({ resourceId }) => resourceId)).toEqual(['reports/may', 'secrets/may']);
    } finally {
      await close();
    }
  });

  it.each(WAYS)(
    'runs nothing while the service is away, over %s, %s protocol',
    async (way, era) => {
      const runs = join(folder, `away-${way}-${era}`);
      const environment = { GOVERNANCE_URL: 'http://127.0.0.1:9', GOVERNANCE_API_KEY: 'any' };
      const words = ['--patience', '0', '--agent', 'bot'];
      const { client, close } = await connectThroughProxy({ way, era, runs, environment, words });
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

  it('runs nothing while the service is silent', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const runs = join(folder, 'silent');
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
    const { environment, runs } = await shopper('failing');
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

  it('answers over HTTP only to names of this machine', async () => {
    const { environment, runs } = await shopper('names');
    const { url, close } = await connectThroughProxy({ way: 'http', era: 'modern', runs, environment });
    try {
      const port = new URL(url).port;
      const headers = { 'Content-Type': 'application/json' };
      const asPage = await fetch(url, {
        method: 'POST',
        headers: { ...headers, Origin: 'https://evil.example' },
        body: '{}',
      });
      expect(asPage.status).toBe(403);
      const rebound = await run('curl', [
        '-s',
        '-o',
        '/dev/null',
        '-w',
        '%{http_code}',
        '-H',
        `Host: evil.example:${port}`,
        url,
      ]);
      expect(rebound.output).toBe('403');
      const large = await fetch(url, { method: 'POST', headers, body: JSON.stringify('x'.repeat(5_000_000)) });
      expect(large.status).toBe(413);
    } finally {
      await close();
    }
  });

  it('says what is wrong with its arguments', async () => {
    const { environment } = await shopper('words');
    const mcp = (...words: string[]): ReturnType<typeof run> =>
      run(process.execPath, [GOV, 'mcp', ...words], { environment });
    expect(await mcp()).toMatchObject({ exitCode: 1, errors: expect.stringContaining('gov mcp -- ') });
    expect(await mcp('--listen', '0.0.0.0', '--', 'true')).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('10.0.0.5:8080'),
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
    for (const [option, value, least] of [
      ['--timeout', '0', 1],
      ['--timeout', '-1', 1],
      ['--timeout', '1.5', 1],
      ['--patience', '10000', 0],
      ['--hold', 'long', 0],
    ]) {
      expect(await mcp(`${option}=${value}`, '--', 'true')).toMatchObject({
        exitCode: 1,
        errors: expect.stringMatching(new RegExp(`'${option} <seconds>'.* is invalid\\. .*, ${least} to 9999\\.`)),
      });
    }
    expect(await mcp('--map', 'nowhere.json', '--', 'true')).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('nowhere.json'),
    });
  });
});

type Asked = (action: string) => Promise<ExecutionResponse[]>;
