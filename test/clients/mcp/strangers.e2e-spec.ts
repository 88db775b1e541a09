import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import type { Parsed } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { run } from '../../support/processes/shell';
import { buildCommandLine } from '../command-line';
import { GOV } from './mcp-clients';
import { RawConnection } from './raw-connection';

const STRANGER = join(__dirname, 'stranger-server.mjs');
const SCHEMA = { type: 'object' };
const GREET = { name: 'greet', inputSchema: SCHEMA };
const RESULT = { content: [{ type: 'text', text: 'done' }] };
const UNKNOWN = 'It is not known what odd__greet has done';

/** A line that answers; without an id of its own, with that of the request. */
function line(message: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: '%ID%', ...message }).replaceAll('"%ID%"', '%ID%');
}

const DONE = line({ result: RESULT });

/** Lines that answer a call, and what its client gets. */
const CALLS: Readonly<Record<string, [lines: readonly string[], text: string]>> = {
  'null members of a result': [
    [line({ result: { ...RESULT, isError: null, structuredContent: null, _meta: null } })],
    'done',
  ],
  'null members of a content': [
    [line({ result: { content: [{ type: 'text', text: 'done', annotations: null, _meta: null }] } })],
    'done',
  ],
  'an error that is null beside a result': [[line({ result: RESULT, error: null })], 'done'],
  'a result that is null beside an error': [[line({ result: null, error: { code: 1, message: 'No.' } })], 'No.'],
  'an error without a message': [[line({ error: { code: 1 } })], 'an error without a message'],
  'an error without a code': [[line({ error: { message: 'No.' } })], 'No.'],
  'an error whose data is null': [[line({ error: { code: 1, message: 'No.', data: null } })], 'No.'],
  'a result and an error': [[line({ result: RESULT, error: { code: 1, message: 'No.' } })], UNKNOWN],
  'a result that is null': [[line({ result: null })], UNKNOWN],
  'a result that is a list': [[line({ result: [] })], UNKNOWN],
  'a result that is a text': [[line({ result: 'done' })], UNKNOWN],
  'neither a result nor an error': [[line({})], UNKNOWN],
  'an answer with an odd content': [[line({ result: { content: 'done' } })], UNKNOWN],
  'an id that is a text': [[line({ id: 'x', result: RESULT }), DONE], 'done'],
  'an unknown id first': [[line({ id: 4_711, result: RESULT }), DONE], 'done'],
  'an id that is null first': [[line({ id: null, error: { code: 1, message: 'No.' } }), DONE], 'done'],
  'its answer twice': [[DONE, line({ error: { code: 1, message: 'No.' } })], 'done'],
  'lines that are no message': [['no JSON', '42', 'null', '{}', '[]', '"x"', '{"jsonrpc":"2.0"}', DONE], 'done'],
  'a list of messages': [[`[${DONE}]`], 'done'],
  'no version of JSON-RPC': [[DONE.replace('"jsonrpc":"2.0",', '')], 'done'],
  'odd notifications': [
    [
      ...[
        'notifications/message',
        'notifications/progress',
        'notifications/cancelled',
        'notifications/tools/list_changed',
        'x',
      ].flatMap((method) =>
        [null, [], 'x', {}, { progressToken: 4_711, progress: 1, level: null, requestId: null }].map((params) =>
          JSON.stringify({ jsonrpc: '2.0', method, params }),
        ),
      ),
      DONE,
    ],
    'done',
  ],
  'questions, and no wait for their answers': [
    [
      ...['sampling/createMessage', 'elicitation/create', 'roots/list', 'ping', 'x'].flatMap((method) =>
        [null, [], {}].map((params) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })),
      ),
      DONE,
    ],
    'done',
  ],
  'a structured content that is nested too deep': [
    [line({ result: { ...RESULT, structuredContent: { a: '%DEEP%' } } })],
    UNKNOWN,
  ],
  'a _meta that is nested too deep': [[line({ result: { ...RESULT, _meta: { a: '%DEEP%' } } })], UNKNOWN],
  'an error whose data is nested too deep': [[line({ error: { code: 1, message: 'No.', data: '%DEEP%' } })], UNKNOWN],
  'a structured content of too many values': [
    [line({ result: { ...RESULT, structuredContent: { a: '%MANY%' } } })],
    UNKNOWN,
  ],
  'a question that is nested too deep': [
    [JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x', params: { a: '%DEEP%' } }), DONE],
    'done',
  ],
  'a message that is nested too deep': [
    [
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: '%DEEP%' } }),
      DONE,
    ],
    'done',
  ],
  'an answer that is too large': [[line({ result: { content: [{ type: 'text', text: '%BIG%' }] } })], UNKNOWN],
};

/** Messages over pipes that are too large, and no answers, before the answer. */
const LARGE_MESSAGES = ['%MANY%', '%BIG%'].flatMap((data) => [
  line({ method: 'x', params: { data } }),
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } }),
  JSON.stringify({ params: { data }, method: 'x', jsonrpc: '2.0' }),
]);

/** Lines that list the tools, and which of them are shown. */
const LISTS: Readonly<Record<string, [lines: readonly string[], names: readonly string[]]>> = {
  'null members': [
    [
      line({
        result: {
          tools: [{ ...GREET, description: null, annotations: null, title: null, icons: null }],
          nextCursor: null,
          _meta: null,
        },
      }),
    ],
    ['odd__greet'],
  ],
  'the same cursor for ever': [[line({ result: { tools: [GREET], nextCursor: 'same' } })], ['odd__greet']],
  'other cursors for ever': [[line({ result: { tools: [GREET], nextCursor: '%N%' } })], ['odd__greet']],
  'more than 16 MB on several pages': [
    [line({ result: { tools: [GREET, { ...GREET, name: 'p%N%', description: '%SIZE%' }], nextCursor: '%N%' } })],
    ['odd__greet'],
  ],
  'a schema that is nested too deep': [
    [line({ result: { tools: [GREET, { name: 'a', inputSchema: { type: 'object', a: '%DEEP%' } }] } })],
    [],
  ],
  'a cursor that is a number': [[line({ result: { tools: [GREET], nextCursor: 1 } })], ['odd__greet']],
  'no list': [[line({ result: { tools: null } })], []],
  'an error': [[line({ error: { code: 1 } })], []],
  ...Object.fromEntries(
    [
      ...[null, 1, 'x', [], {}, { inputSchema: SCHEMA }, { name: null, inputSchema: SCHEMA }, { name: 'a' }],
      ...[null, [], 'x', {}].map((inputSchema) => ({ name: 'a', inputSchema })),
      ...[{ ...GREET, description: 1 }, GREET].map((tool) => ({ ...tool })),
    ].map((odd) => [
      `the odd tool ${JSON.stringify(odd)}`,
      [[line({ result: { tools: [GREET, odd] } })], ['odd__greet']],
    ]),
  ),
};

/** Answers of HTTP to a call, or to the list of tools. */
const RESPONSES: readonly object[] = [
  { status: 500, body: 'Out of order.' },
  { status: 302, headers: { Location: 'http://127.0.0.1:1/mcp' } },
  { status: 307, headers: { Location: 'http://127.0.0.1:1/mcp' } },
  { status: 200, headers: { 'Content-Type': 'text/html' }, body: '<p>Welcome.</p>' },
  { status: 200, headers: { 'Content-Type': 'application/json' }, body: 'no JSON' },
  { status: 200, headers: { 'Content-Type': 'application/json' }, body: 'null' },
];

const STARTS: Readonly<Record<string, object>> = {
  'null members': {
    capabilities: { tools: {}, prompts: null, logging: null, experimental: null },
    instructions: null,
    _meta: null,
  },
  'null in a capability': { capabilities: { tools: { listChanged: null } } },
};

describeOnSqlite.each(['stdio', 'http'] as const)('Strangers behind gov mcp, over %s', (way) => {
  let app: TestApp;
  let folder: string;
  let file: string;
  let environment: NodeJS.ProcessEnv;
  let program: ChildProcess | null = null;
  let connection: RawConnection;
  let id = 0;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-strangers-'));
    const { id: agentId } = await createAgent(app, { name: 'bot', capabilities: ['greet', 'a', 'get-prompt', 'read'] });
    const { secret } = await issueKey(app, { name: 'bot', scopes: ['execute'], agentId });
    // What a server sends is held a few times over, never once for each character.
    const NODE_OPTIONS = '--max-old-space-size=256';
    environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret, NODE_OPTIONS };
    await createPolicy(app, { actions: ['greet', 'a', 'get-prompt', 'read'], resources: ['odd/*', 'good/*'] });
    file = join(folder, 'odd.json');
    connection = await opened({});
  });
  afterAll(async () => {
    await connection.close();
    program?.kill('SIGTERM');
    rmSync(folder, { recursive: true });
    await app.close();
  });

  async function opened(state: object): Promise<RawConnection> {
    writeFileSync(file, JSON.stringify(state));
    writeFileSync(join(folder, 'good.json'), '{}');
    const good = { command: process.execPath, args: [STRANGER, 'stdio', join(folder, 'good.json')] };
    const servers = join(folder, 'servers.json');
    writeFileSync(servers, JSON.stringify({ mcpServers: { odd: await target(), good } }));
    return RawConnection.open([], environment, { words: ['--config', servers] });
  }

  async function target(): Promise<object> {
    if (way === 'stdio') return { command: process.execPath, args: [STRANGER, 'stdio', file] };
    program?.kill('SIGTERM');
    program = spawn(process.execPath, [STRANGER, 'http', file], { stdio: ['ignore', 'pipe', 'inherit'] });
    if (program.stdout === null) throw new Error('It has no output.');
    const [url] = await once(createInterface({ input: program.stdout }), 'line');
    return { url };
  }

  async function ask(on: RawConnection, method: string, params: object = {}): Promise<Parsed> {
    id += 1;
    const own = `n${id}`;
    on.send({ id: own, method, params });
    return on.until((message) => message.id === own);
  }

  async function textOf(on: RawConnection, name: string): Promise<string> {
    const { result } = await ask(on, 'tools/call', { name, arguments: {} });
    return result.content[0].text;
  }

  async function names(on: RawConnection): Promise<string[]> {
    return (await ask(on, 'tools/list')).result.tools.map(({ name }: Parsed) => name);
  }

  it.each(Object.entries(CALLS))(
    'get a right end for a call that they answer with %s',
    async (_, [lines, expected]) => {
      writeFileSync(file, JSON.stringify({ 'tools/call': lines }));
      expect(await textOf(connection, 'odd__greet')).toContain(expected);
      expect(await textOf(connection, 'good__greet')).toBe('done');
      writeFileSync(file, '{}');
      expect(await textOf(connection, 'odd__greet')).toBe('done');
    },
  );

  (way === 'stdio' ? it : it.skip).each(LARGE_MESSAGES)('may send %s, which is no answer', async (message) => {
    writeFileSync(file, JSON.stringify({ 'tools/call': [message, DONE] }));
    expect(await textOf(connection, 'odd__greet')).toBe('done');
  });

  (way === 'http' ? it : it.skip).each(RESPONSES)('may answer a call or a list with %j', async (answer) => {
    writeFileSync(file, JSON.stringify({ http: { 'tools/call': answer } }));
    expect(await textOf(connection, 'odd__greet')).toMatch(/odd__greet failed|not known what odd__greet has done/);
    writeFileSync(file, JSON.stringify({ http: { 'tools/list': answer } }));
    expect(await names(connection)).toEqual(['good__greet']);
    writeFileSync(file, '{}');
    expect(await names(connection)).toEqual(['odd__greet', 'good__greet']);
    expect(await textOf(connection, 'odd__greet')).toBe('done');
  });

  it.each(Object.entries(LISTS))('take no other tool with them when they list %s', async (_, [lines, expected]) => {
    writeFileSync(file, JSON.stringify({ 'tools/list': lines }));
    expect(await names(connection)).toEqual([...expected, 'good__greet']);
    writeFileSync(file, '{}');
    expect(await names(connection)).toEqual(['odd__greet', 'good__greet']);
  });

  (way === 'http' ? it : it.skip)(
    'may forget their session: lists and calls begin another, also with a lock',
    async () => {
      const lock = join(folder, 'mcp.lock');
      writeFileSync(file, '{}');
      const config = join(folder, 'servers.json');
      await run(process.execPath, [GOV, 'mcp', 'pin', '--config', config, '--lock', lock], { environment });
      const other = await RawConnection.open([], environment, { words: ['--config', config, '--lock', lock] });
      const forget = (epoch: string): void => writeFileSync(file, JSON.stringify({ epoch }));
      expect(await textOf(other, 'odd__greet')).toBe('done');
      forget('second');
      expect(await names(other)).toEqual(['odd__greet', 'good__greet']);
      forget('third');
      expect(await textOf(other, 'odd__greet')).toBe('done');
      forget('fourth');
      expect(await textOf(connection, 'odd__greet')).toBe('done');
      await other.close();
    },
  );

  it('may have null members in prompts and resources, of which an odd one is left out alone', async () => {
    const info = { protocolVersion: '2025-11-25', serverInfo: { name: 'odd', version: '1' } };
    const nulls = { title: null, description: null, icons: null, _meta: null };
    const prompt = { name: 'hello', arguments: null, ...nulls };
    const resource = { uri: 'note://h/a', name: 'a', mimeType: null, size: null, annotations: null, ...nulls };
    const other = await opened({
      initialize: [line({ result: { ...info, capabilities: { prompts: {}, resources: {} } } })],
      'prompts/list': [line({ result: { prompts: [null, { name: null }, prompt], nextCursor: null } })],
      'resources/list': [line({ result: { resources: [null, { uri: null }, resource], nextCursor: null } })],
    });
    const { result: prompts } = await ask(other, 'prompts/list');
    expect(prompts).toMatchObject({ prompts: [{ name: 'odd__hello' }] });
    const { result: resources } = await ask(other, 'resources/list');
    expect(resources).toMatchObject({ resources: [{ uri: 'note://h/a', name: 'a' }] });
    await other.close();
  });

  it.each(Object.entries(STARTS))('may begin with %s', async (_, resultMembers) => {
    const version = { protocolVersion: '2025-11-25', serverInfo: { name: 'odd', version: '1' } };
    const other = await opened({ initialize: [line({ result: { ...version, ...resultMembers } })] });
    expect(await names(other)).toEqual(['odd__greet', 'good__greet']);
    await other.close();
  });
});

describeOnSqlite('A client of gov mcp that is a stranger', () => {
  let app: TestApp;
  let connection: RawConnection;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
    const { id: agentId } = await createAgent(app, { name: 'bot', capabilities: ['greet'] });
    const { secret } = await issueKey(app, { name: 'bot', scopes: ['execute'], agentId });
    await createPolicy(app, { actions: ['greet'], resources: ['odd/*'] });
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret };
    const words = ['--name', 'odd'];
    connection = await RawConnection.open([STRANGER, 'stdio', join(__dirname, 'nothing.json')], environment, { words });
  });
  afterAll(async () => {
    await connection.close();
    await app.close();
  });

  it.each([
    ['{"jsonrpc":"2.0","id":"a","method":"tools/list","params":null}', { id: 'a', result: expect.anything() }],
    [
      '{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"greet","arguments":null}}',
      { id: 'b', result: expect.anything() },
    ],
    [
      '{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"greet","_meta":null}}',
      { id: 'c', result: expect.anything() },
    ],
    ['{"jsonrpc":"2.0","id":"d","method":"tools/call","params":[]}', { id: 'd', error: expect.anything() }],
    ['{"jsonrpc":"2.0","id":"e","method":5}', { id: 'e', error: expect.anything() }],
    ['{"jsonrpc":"2.0","id":"f"}', { id: 'f', error: expect.anything() }],
    ['{"id":"g","method":"ping"}', { id: 'g', error: expect.anything() }],
    ['{"jsonrpc":"2.0","id":"h","method":"tools/call","params":{"name":null}}', { id: 'h', error: expect.anything() }],
    ['no JSON', { id: null, error: { code: -32_600 } }],
    ['42', { id: null, error: { code: -32_600 } }],
  ])('is answered: %s', async (text, expected) => {
    const before = connection.received.length;
    connection.sendLine(text);
    await connection.until((message) => connection.received.indexOf(message) >= before);
    expect(connection.received.slice(before)).toEqual([expect.objectContaining({ id: expected.id })]);
    expect(connection.received.at(-1)).toMatchObject(expected);
  });
});
