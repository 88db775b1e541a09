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

describe('A stream that an MCP server ends', () => {
  it.each([
    [0, 1_000],
    [-1, 1_000],
    [5_000, 5_000],
    [2 ** 40, 60_000],
  ])('is opened again, if the server says after %i ms, after %i', async (serverDelay, expected) => {
    const { reopenDelay } = await loadGatewayModule('../mcp/servers/answering-transport');
    expect(reopenDelay(serverDelay)).toBe(expected);
  });
});

describe('The large messages of an MCP server', () => {
  let inPlaces: typeof LargeAnswers.inPlaces;
  const faults: string[] = [];

  beforeAll(async () => {
    ({ inPlaces } = await loadGatewayModule('../mcp/servers/large-answers'));
  });

  /** The places that are taken when each chunk has been passed on, and at the end. */
  async function placesDuring(chunks: readonly string[], all = 1): Promise<number[]> {
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
    const passed = inPlaces(body(), placeFor, (message) => void faults.push(message));
    for await (const _ of passed) places.push(held);
    return [...places, held];
  }

  const large = 'x'.repeat(LARGE);
  it.each([
    ['JSON', [large, large], [1, 1, 0]],
    ['an event and a small one', [large, `${large}\n\ndata: 1\n\n`, 'data: 2'], [1, 1, 0, 0]],
    ['an event with carriage returns', [large, '\r\n\r\n', 'data: 2'], [1, 1, 0, 0]],
    ['two events', [large, `\n\n${large}`, large, '\n\n'], [1, 1, 1, 1, 0]],
    ['small events', ['data: 1\n\n', 'data: 2\n\n'], [0, 0, 0]],
  ])('have a place each until they end: %s', async (_, chunks, places) => {
    expect(await placesDuring(chunks)).toEqual(places);
  });

  it('are lost without one, and say so', async () => {
    await expect(placesDuring([large], 0)).rejects.toThrow('no room');
    expect(faults).toEqual(['there was no room for its answer']);
  });
});
