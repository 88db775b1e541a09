import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { until } from '../../faults/support/watch';
import { keepSecret } from '../../support/application/secret-watch';
import { type McpStandIn, startMcpStandIn } from './mcp-stage';
import { bearer, type GatewayStage, openStage, type StartedGateway, startGateway } from './stage';

const SECRETS = ['first', 'second'].map((name) => `${name}-secret-of-the-server`) as [string, string];

describe('A secret of an MCP server that changes while a client listens', () => {
  let stage: GatewayStage;
  let upstream: McpStandIn;
  let gateway: StartedGateway;
  let path: string;
  const listeners: ServerResponse[] = [];

  beforeAll(async () => {
    stage = await openStage();
    for (const secret of SECRETS) keepSecret(secret);
    path = join(stage.folder, 'secret');
    writeFileSync(path, SECRETS[0]);
    const listen = (response: ServerResponse): void => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.flushHeaders();
      listeners.push(response);
    };
    // Tells every listener of each call, with the credential that it had.
    upstream = await startMcpStandIn(
      ({ params, request, reply }) => {
        const data = `call ${String(params.arguments?.['count'])} by ${request.headers.authorization} end`;
        const message = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data } };
        for (const listener of listeners) listener.write(`data: ${JSON.stringify(message)}\n\n`);
        reply({ content: [{ type: 'text', text: data }] });
      },
      { session: () => 'session', listen },
    );
    const credentials = [{ header: 'Authorization', value: `Bearer \${file:${path}}` }];
    gateway = await startGateway(stage, { shop: { mcp: `${upstream.url}/mcp`, credentials } });
  });
  afterAll(async () => {
    for (const listener of listeners) listener.end();
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  async function post(message: object, headers: Readonly<Record<string, string>>): Promise<Response> {
    const accept = 'application/json, text/event-stream';
    return fetch(`${gateway.url}/shop/mcp`, {
      method: 'POST',
      headers: { ...headers, Accept: accept, 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  }

  it('is not shown to the client, nor is the one before', async () => {
    const client = { name: 'test', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: client };
    const begun = await post({ id: 0, method: 'initialize', params }, bearer(stage.key));
    await begun.text();
    const session = { ...bearer(stage.key), 'Mcp-Session-Id': String(begun.headers.get('mcp-session-id')) };
    await post({ method: 'notifications/initialized' }, session);
    const stream = await fetch(`${gateway.url}/shop/mcp`, { headers: { ...session, Accept: 'text/event-stream' } });
    let received = '';
    const decoder = new TextDecoder();
    void (async () => {
      for await (const chunk of stream.body ?? []) received += decoder.decode(chunk, { stream: true });
    })();
    let count = 0;
    /** Calls the tool, and returns the credential that the server got. */
    const call = async (): Promise<string | undefined> => {
      count += 1;
      const response = await post(
        { id: count, method: 'tools/call', params: { name: 'write', arguments: { count } } },
        session,
      );
      expect(await response.text()).toContain(`call ${count} by Bearer [credential] end`);
      await until('the stream tells of the call', () => received.includes(`call ${count} by`));
      return upstream.governed().at(-1)?.headers.authorization;
    };
    await until('the gateway listens to the server', () => listeners.length > 0);
    expect(await call()).toBe(`Bearer ${SECRETS[0]}`);
    writeFileSync(path, SECRETS[1]);
    await until('a call has the second secret', async () => (await call()) === `Bearer ${SECRETS[1]}`);
    await until('the line is whole', () => received.includes(`call ${count} by Bearer [credential] end`));
    for (const secret of SECRETS) expect(received).not.toContain(secret);
  });
});
