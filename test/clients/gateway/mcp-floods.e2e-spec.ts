import type { ServerResponse } from 'node:http';
import type * as LargeAnswers from '../../../clients/cli/src/mcp/servers/large-answers.js' with {
  'resolution-mode': 'import',
};
import { until } from '../../faults/support/watch';
import { type McpClient, textOf } from '../mcp/mcp-clients';
import { loadGatewayModule } from './gateway-modules';
import { connectClient, type GovernedMessage, type McpStandIn, startMcpStandIn } from './mcp-stage';
import { bearer, type GatewayStage, openStage, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';

/** Answers of the gateway to one server that may be under way. */
const MAX_ANSWERS = 10;
const LARGE = 256 * 1024 + 1;
/**
 * Bytes that an endless answer has at most, so that a fault takes no memory: far more than the buffers of a connection.
 */
const MAX_FLOOD = 64 * 2 ** 20;

describe('An MCP server that sends more requests than it takes answers of', () => {
  let stage: GatewayStage;
  let upstream: McpStandIn;
  let gateway: StartedGateway;
  let client: McpClient;
  const answers: ServerResponse[] = [];

  beforeAll(async () => {
    stage = await openStage();
    const pings = Array.from({ length: 5 * MAX_ANSWERS }, (_, id) => ({
      jsonrpc: '2.0',
      id: `ping-${id}`,
      method: 'ping',
    }));
    const answer = ({ response, request }: GovernedMessage): void => {
      const { id } = JSON.parse(request.body);
      const result = { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } };
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.end([...pings, result].map((message) => `data: ${JSON.stringify(message)}\n\n`).join(''));
    };
    upstream = await startMcpStandIn(answer, { take: (response) => void answers.push(response) });
    gateway = await startGateway(stage, { shop: { mcp: `${upstream.url}/mcp`, credentials: [VENDOR_CREDENTIAL] } });
    ({ client } = await connectClient(`${gateway.url}/shop/mcp`, bearer(stage.key)));
  });
  afterAll(async () => {
    await client.close();
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  it('gets ten at a time, and its calls go on', async () => {
    for (let count = 0; count < 3; count += 1) {
      expect(textOf(await client.callTool({ name: 'write', arguments: { count } }))).toBe('done');
      await until('ten answers are under way', () => answers.length >= MAX_ANSWERS);
      expect(answers).toHaveLength(MAX_ANSWERS);
    }
    for (const response of answers.splice(0)) response.writeHead(202).end();
    await until('further ones are answered', async () => {
      await client.callTool({ name: 'write', arguments: {} });
      return answers.length > 0;
    });
    for (const response of answers.splice(0)) response.writeHead(202).end();
  });
});

describe('An MCP server that answers an answer without end', () => {
  let stage: GatewayStage;
  let upstream: McpStandIn;
  let gateway: StartedGateway;
  /** Bytes that it has sent, until the gateway ended the connection. */
  let sent = 0;
  let isEnded = false;

  beforeAll(async () => {
    stage = await openStage();
    const ping = { jsonrpc: '2.0', id: 'ping', method: 'ping' };
    const answer = ({ response, request }: GovernedMessage): void => {
      const result = { jsonrpc: '2.0', id: JSON.parse(request.body).id, result: { content: [] } };
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.end([ping, result].map((message) => `data: ${JSON.stringify(message)}\n\n`).join(''));
    };
    const flood = (response: ServerResponse): void => {
      while (!response.destroyed && sent < MAX_FLOOD) {
        const event = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'x'.repeat(10_000) })}\n\n`;
        sent += event.length;
        if (!response.write(event)) return;
      }
    };
    const take = (response: ServerResponse): void => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.on('drain', () => flood(response)).once('close', () => (isEnded = true));
      flood(response);
    };
    upstream = await startMcpStandIn(answer, { take });
    gateway = await startGateway(stage, { shop: { mcp: `${upstream.url}/mcp`, credentials: [VENDOR_CREDENTIAL] } });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  it('is read no further than the message of a fault', async () => {
    const { client } = await connectClient(`${gateway.url}/shop/mcp`, bearer(stage.key));
    await client.callTool({ name: 'write', arguments: {} });
    await until('it has no reader left, or has sent all', () => isEnded || sent >= MAX_FLOOD);
    expect(sent).toBeLessThan(MAX_FLOOD);
    await client.close();
  });
});

describe('A stream that an MCP server ends', () => {
  it('is opened again after a second to a minute, later while it ends at once', async () => {
    const { Reopening } = await loadGatewayModule('../mcp/servers/reopening');
    const reopening = new Reopening();
    let now = 0;
    /** The delay for a stream that has been open for some milliseconds. */
    const delayAfter = (opened: number, serverDelay: number): number => {
      const delay = reopening.delay(serverDelay, (now += opened));
      now += delay;
      return delay;
    };
    expect([0, 0, -1, 0].map((serverDelay) => delayAfter(1, serverDelay))).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(Array.from({ length: 2_000 }, () => delayAfter(1, 0)).at(-1)).toBe(60_000);
    expect(delayAfter(1_000, 0)).toBe(1_000);
    expect(delayAfter(1_000, 5_000)).toBe(5_000);
    expect(delayAfter(1_000, Infinity)).toBe(60_000);
  });

  it('is opened again no later because others end with it', async () => {
    const { Reopening } = await loadGatewayModule('../mcp/servers/reopening');
    const reopening = new Reopening();
    expect(Array.from({ length: 10 }, (_, now) => reopening.delay(0, now))).toEqual(Array(10).fill(1_000));
  });
});

describe('The response of an MCP server', () => {
  const options = {
    bounds: { maxBytes: 2 ** 20, maxValues: Infinity },
    onFault: () => undefined,
    onAnswer: () => undefined,
  };

  it('has twenty messages of a list at most', async () => {
    const { readableResponse } = await loadGatewayModule('../mcp/servers/readable-response');
    const pings = Array.from({ length: 50 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
    const response = readableResponse(Response.json(pings), { ...options, isAnswer: true, isStream: false });
    expect(await response.json()).toEqual(pings.slice(0, 20));
  });

  async function readEvents(...chunks: readonly string[]): Promise<string> {
    const { readableResponse } = await loadGatewayModule('../mcp/servers/readable-response');
    const body = ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk)));
    const response = new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
    return readableResponse(response, { ...options, isAnswer: true, isStream: true }).text();
  }

  it.each([
    ['\\n', '\n'],
    ['\\r', '\r'],
    ['\\r\\n', '\r\n'],
  ])('is read as a whole where the data of an event is on lines that end with %s', async (_, end) => {
    const deep = `${'['.repeat(2_000)}${']'.repeat(2_000)}`;
    const lines = [
      'id: 7',
      'data: {"id":1,',
      `data: "result":{"a":${deep}}}`,
      '',
      'data: {"id":2,',
      'data:"result":{}}',
      '',
      '',
    ];
    const body = lines.join(end);
    for (const chunks of [[body], [...body]])
      expect(await readEvents(...chunks)).toMatch(
        /^id: 7\ndata: \{"jsonrpc":"2.0","id":1,"error":\{.*more than 1000 levels deep.*\}\}\n\ndata: \{"jsonrpc":"2.0","id":2,"result":\{\}\}\n\n$/,
      );
  });

  it('has the messages of a list in an event, twenty at most, each as an event', async () => {
    const pings = Array.from({ length: 50 }, (_, id) => ({ jsonrpc: '2.0', method: 'ping', id }));
    const events = pings.slice(0, 20).map((ping) => `data: ${JSON.stringify(ping)}\n\n`);
    expect(await readEvents(`data: ${JSON.stringify(pings)}\n\n`)).toBe(events.join(''));
  });

  it('is bounded where blank characters divide the lines of an event', async () => {
    const part = `data: ${'x'.repeat(2 ** 19)}\n \n`;
    await expect(readEvents(part.repeat(3))).rejects.toThrow('too large');
  });

  it('keeps what opens a stream again, and no line without a meaning', async () => {
    const events = await readEvents(': hello\nretry: 5\nid: a\nodd\ndata:\n\n\n\ndata: no JSON\n\n');
    expect(events).toBe('retry: 5\nid: a\ndata: \n\ndata: no JSON\n\n');
  });
});

describe('The large messages of an MCP server', () => {
  let inPlaces: typeof LargeAnswers.inPlaces;
  const faults: string[] = [];

  beforeAll(async () => {
    ({ inPlaces } = await loadGatewayModule('../mcp/servers/large-answers'));
  });

  /** The places that are taken when each chunk has been passed on, and at the end. */
  async function placesDuring(chunks: readonly string[], { all = 1, isStream = true } = {}): Promise<number[]> {
    let held = 0;
    const placeFor: LargeAnswers.PlaceForAnswer = async () => {
      if (held === all) return null;
      held += 1;
      return { release: () => (held -= 1) };
    };
    const places: number[] = [];
    async function* body(): AsyncGenerator<Uint8Array> {
      for (const chunk of chunks) yield Buffer.from(chunk);
    }
    const onFault = (message: string): void => void faults.push(message);
    const passed = inPlaces(body(), { isStream, placeFor, onFault });
    for await (const _ of passed) places.push(held);
    return [...places, held];
  }

  const large = 'x'.repeat(LARGE);
  const part = 'x'.repeat(LARGE - 16);
  it.each([
    ['an event that breaks off', [large, large], [1, 1, 0]],
    ['an event and a small one', [large, `${large}\n\ndata: 1\n\n`, 'data: 2'], [1, 1, 0, 0]],
    ['an event with carriage returns', [large, '\r\n\r\n', 'data: 2'], [1, 1, 0, 0]],
    ['two events', [large, `\n\n${large}`, large, '\n\n'], [1, 1, 1, 1, 0]],
    ['small events', ['data: 1\n\n', 'data: 2\n\n'], [0, 0, 0]],
    ['small events with carriage returns only', [`${part}\r\r`, `${part}\r\r`], [0, 0, 0]],
    ['small events with divided empty lines', [`${part}\n`, '\n', `${part}\n`, '\n'], [0, 0, 0, 0, 0]],
    ['small events whose empty lines begin later', [`${part}\r\n`, `\r\n${part}`], [0, 0, 0]],
  ])('have a place each until they end: %s', async (_, chunks, places) => {
    expect(await placesDuring(chunks)).toEqual(places);
  });

  it('have one place, though there are empty lines in them, without events', async () => {
    const part = `${'x'.repeat(LARGE / 2)}\n\n`;
    expect(await placesDuring([part, part, part], { isStream: false })).toEqual([0, 1, 1, 0]);
  });

  it('are lost without one, and say so', async () => {
    await expect(placesDuring([large], { all: 0 })).rejects.toThrow('no room');
    expect(faults).toEqual(['there was no room for its answer']);
  });
});
