import { type McpClient, textOf } from '../mcp/mcp-clients';
import { connectClient, type GovernedMessage, type McpStandIn, startMcpStandIn } from './mcp-stage';
import { bearer, type GatewayStage, openStage, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';

const MAX_BYTES = 4 * 2 ** 20;
/** Members, list items, and the names of the members. */
const MAX_VALUES = 50_000;
/** Characters of the body of a refusal that are read, and room for the text around them. */
const MAX_REFUSAL = 70_000;
const VALUES = `at most ${MAX_VALUES} values`;
const BYTES = `at most ${MAX_BYTES} bytes`;
/** Answers with more than the bounds, and the bound in the message. */
const TOO_LARGE: readonly (readonly [label: string, value: string, bound: string])[] = [
  ['numbers', `[${'1,'.repeat(MAX_VALUES)}1]`, VALUES],
  ['objects', `[${'{"a":1},'.repeat(MAX_VALUES / 2)}{}]`, VALUES],
  ['names', `{${Array.from({ length: MAX_VALUES + 1 }, (_, index) => `"k${index}":1`).join(',')}}`, VALUES],
  ['lists in lists', `[${'[[]],'.repeat(MAX_VALUES / 2)}1]`, VALUES],
  ['text', JSON.stringify('x'.repeat(MAX_BYTES)), BYTES],
  ['text of more bytes than characters', JSON.stringify('€'.repeat(MAX_BYTES / 3)), BYTES],
];

describe('The answers of an MCP server at the gateway', () => {
  let stage: GatewayStage;
  let upstream: McpStandIn;
  let gateway: StartedGateway;
  let client: McpClient;
  let answer: (message: GovernedMessage) => void;
  const lists: Record<string, object> = {};
  let calls = 0;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startMcpStandIn((message) => answer(message), { lists });
    gateway = await startGateway(stage, { shop: { mcp: `${upstream.url}/mcp`, credentials: [VENDOR_CREDENTIAL] } });
    ({ client } = await connectClient(`${gateway.url}/shop/mcp`, bearer(stage.key)));
  });

  afterAll(async () => {
    await client.close();
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  /** Calls the tool, and returns the text of its result and its record. */
  async function call(): Promise<{ text: string; record: object }> {
    calls += 1;
    const text = textOf(await client.callTool({ name: 'write', arguments: { calls } }));
    const [record] = await stage.executions('&order=desc');
    return { text, record: await stage.ended(String(record?.id)) };
  }

  const resultOf = (value: string): string => `{"content":[],"structuredContent":{"x":${value}}}`;
  const expectLost = async (bound: string): Promise<void> => {
    const { text, record } = await call();
    expect(text).toContain(`It is not known what write has done: its server gave no usable answer (its answer`);
    expect(text).toContain(bound);
    expect(record).toMatchObject({ outcome: 'failed', reason: 'outcome_unknown' });
  };

  it.each(TOO_LARGE)('count as lost where they are too large: %s', async (_, value, bound) => {
    answer = ({ reply }) => reply(resultOf(value));
    await expectLost(bound);
  });

  it.each(TOO_LARGE)('count as lost where an event is too large: %s', async (_, value, bound) => {
    answer = ({ response, request }) => {
      const { id } = JSON.parse(request.body);
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.end(`data: {"jsonrpc":"2.0","id":${id},"result":${resultOf(value)}}\n\n`);
    };
    await expectLost(bound);
  });

  it('count as lost where an event is too large in all of its lines', async () => {
    const line = `data: ${'1,'.repeat(1_000)}\n`;
    answer = ({ response, request }) => {
      const { id } = JSON.parse(request.body);
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(`data: {"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"x":[\n`);
      response.end(`${line.repeat(MAX_VALUES / 1_000 + 1)}data: 1]}}}\n\n`);
    };
    await expectLost(VALUES);
  });

  it.each(['\r', '\r\r', '\r\n'])(
    'count as lost where an event is too large behind a comment with a quotation mark that ends with %j',
    async (end) => {
      answer = ({ response, request }) => {
        const { id } = JSON.parse(request.body);
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        const result = resultOf(`[${'1,'.repeat(2 * MAX_VALUES)}1]`);
        response.end(`:"${end}data: {"jsonrpc":"2.0","id":${id},"result":${result}}\n\n`);
      };
      await expectLost(VALUES);
    },
  );

  it('are returned up to the bounds', async () => {
    answer = ({ reply }) => reply(resultOf(`[${'1,'.repeat(MAX_VALUES - 100)}1]`));
    expect((await call()).record).toMatchObject({ outcome: 'executed' });
    const text = 'x'.repeat(MAX_BYTES - 1_000);
    answer = ({ reply }) => reply({ content: [{ type: 'text', text }] });
    expect((await call()).text).toBe(text);
  });

  it.each([
    ['NUL', 'bad \u0000 end', 'bad \ufffd end'],
    ['an escape', 'bad \u001b[31m', 'bad \ufffd[31m'],
    ['half a surrogate pair', 'bad \ud800 end', 'bad \ufffd end'],
    ['more characters than the service keeps', '\u{1f600}'.repeat(3_000), '\u{1f600}'.repeat(2_000)],
    ['blanks', ' \n ', 'It failed without a reason.'],
  ])('are reported as failures whose text has %s', async (_, message, failureReason) => {
    const result = { isError: true, content: [{ type: 'text', text: message }] };
    answer = ({ reply }) => reply(result);
    expect((await call()).record).toMatchObject({ outcome: 'failed', reason: null, failureReason });
  });

  it.each([600, 999])('count as lost with the status %d, which HTTP does not have', async (status) => {
    answer = ({ response }) => response.writeHead(status, { 'Content-Type': 'application/json' }).end('{}');
    const { text, record } = await call();
    expect(text).toContain(`(it answers ${status}, which is no status of HTTP)`);
    expect(record).toMatchObject({ outcome: 'failed', reason: 'outcome_unknown' });
  });

  it('may be many small events', async () => {
    answer = ({ response, request }) => {
      const { id } = JSON.parse(request.body);
      const params = { level: 'info', data: Array.from({ length: 1_000 }, () => 1) };
      const event = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })}\r\n\r\n`;
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(event.repeat((2 * MAX_VALUES) / 1_000));
      const result = { content: [{ type: 'text', text: 'done' }] };
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\r\n\r\n`);
    };
    expect((await call()).text).toBe('done');
  });

  it.each([
    ['comments', ':\n\n'],
    ['empty lines', '\n'],
    ['fields without a meaning', 'x: y\n\n'],
  ])(
    'may have millions of %s before them',
    async (_what, line) => {
      answer = ({ response, request }) => {
        const { id } = JSON.parse(request.body);
        const result = { content: [{ type: 'text', text: 'done' }] };
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write(line.repeat(3_000_000 / line.length));
        response.end(`\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
      };
      expect((await call()).text).toBe('done');
    },
    30_000,
  );

  it('of a refusal are read in part', async () => {
    answer = ({ response }) => void response.writeHead(409).end('x'.repeat(4 * MAX_BYTES));
    const { text, record } = await call();
    expect(text).toMatch(/^write failed: /);
    expect(text.length).toBeLessThan(MAX_REFUSAL);
    expect(record).toMatchObject({ outcome: 'failed', reason: null });
  });

  it('that are lists end at the bounds', async () => {
    const inputSchema = { type: 'object', enum: Array.from({ length: 1_000 }, () => 1) };
    const tools = (cursor = 0): object => ({
      tools: Array.from({ length: 40 }, (_, index) => ({ name: `write-${cursor}-${index}`, inputSchema })),
      nextCursor: String(cursor + 1),
    });
    lists['tools/list'] = tools();
    const { client: lister } = await connectClient(`${gateway.url}/shop/mcp`, bearer(stage.key));
    const pages = Promise.resolve().then(async () => {
      for (let cursor = 1; cursor < 5; cursor += 1) lists['tools/list'] = tools(cursor);
      return lister.listTools();
    });
    expect((await pages).tools.length).toBeLessThan(MAX_VALUES / 1_000);
    await lister.close();
    delete lists['tools/list'];
  });
});
