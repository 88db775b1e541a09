import type { ExecutionResponse } from '../../../src/governance/executions/dto/execution.dto';
import { createPolicy } from '../../support/application/factories';
import { type McpClient, textOf } from '../mcp/mcp-clients';
import { connectClient, type GovernedMessage, type McpStandIn, NOTE, startMcpStandIn } from './mcp-stage';
import { bearer, type GatewayStage, openStage, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';

type Send = (client: McpClient, mark: string) => Promise<unknown>;

const callTool: Send = (client, mark) => client.callTool({ name: 'write', arguments: { mark } });
const SENDS: readonly (readonly [method: string, send: Send])[] = [
  ['tools/call', callTool],
  ['prompts/get', (client, mark) => client.getPrompt({ name: 'hello', arguments: { mark } })],
  ['resources/read', (client) => client.readResource({ uri: NOTE })],
];
const DONE = { content: [{ type: 'text', text: 'done' }] };

describe('What is sent to an MCP server under one authorisation', () => {
  let stage: GatewayStage;
  let upstream: McpStandIn;
  let gateway: StartedGateway;
  let client: McpClient;
  let session: string | null = null;
  let answer: (message: GovernedMessage) => void;

  beforeAll(async () => {
    stage = await openStage();
    await createPolicy(stage.app, { actions: ['get-prompt'] });
    upstream = await startMcpStandIn((message) => answer(message), { session: () => session });
    const shop = { mcp: `${upstream.url}/mcp`, credentials: [VENDOR_CREDENTIAL] };
    gateway = await startGateway(stage, { shop });
  });

  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  afterEach(() => client.close());

  /** Sends a request and returns how often it has reached the server, and its record. */
  async function sendOnce(send: Send, mark: string): Promise<{ times: number; record: ExecutionResponse | undefined }> {
    const before = upstream.governed().length;
    await send(client, mark).catch(() => undefined);
    const [record] = await stage.executions('&order=desc');
    return { times: upstream.governed().length - before, record: await stage.ended(String(record?.id)) };
  }

  const connect = async (): Promise<void> => {
    ({ client } = await connectClient(`${gateway.url}/shop/mcp`, bearer(stage.key)));
  };
  const refuseWith =
    (status: number, headers: Readonly<Record<string, string>> = {}) =>
    ({ response }: GovernedMessage): void =>
      void response.writeHead(status, headers).end('There is no such customer.');

  it.each(SENDS)('is once where a server without sessions answers 404: %s', async (_, send) => {
    session = null;
    await connect();
    answer = refuseWith(404);
    const { times, record } = await sendOnce(send, 'without');
    expect(times).toBe(1);
    expect(record).toMatchObject({
      outcome: 'failed',
      reason: null,
      failureReason: expect.stringContaining('no such customer'),
    });
  });

  it.each(SENDS)(
    'is once where a server has forgotten the session; the next goes in a new one: %s',
    async (method, send) => {
      session = `first ${method}`;
      await connect();
      answer = refuseWith(404);
      const { times, record } = await sendOnce(send, 'with');
      expect(times).toBe(1);
      expect(record).toMatchObject({ outcome: 'failed', failureReason: expect.stringContaining('in a new one') });
      session = `second ${method}`;
      answer = ({ reply }) => reply(DONE);
      const before = upstream.governed().length;
      const call = (): Promise<string> =>
        client.callTool({ name: 'write', arguments: { mark: `${method} again` } }).then(textOf);
      expect(await call()).toBe('done');
      session = `third ${method}`;
      expect(await call()).toContain('in a new one');
      expect(await call()).toBe('done');
      expect(upstream.governed().slice(before)).toHaveLength(3);
    },
  );

  it.each([307, 308, 302])('is once where the server redirects (%i), with an unknown outcome', async (status) => {
    session = null;
    await connect();
    answer = ({ request, response, reply }) => {
      if (request.url === '/mcp') response.writeHead(status, { Location: '/other' }).end();
      else reply(DONE);
    };
    const { times, record } = await sendOnce(callTool, `redirect ${status}`);
    expect(times).toBe(1);
    expect(record).toMatchObject({
      outcome: 'failed',
      reason: 'outcome_unknown',
      failureReason: expect.stringContaining('redirects are not followed'),
    });
    expect(upstream.below('/other')).toHaveLength(0);
  });
});
