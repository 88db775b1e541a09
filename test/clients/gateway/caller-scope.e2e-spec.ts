import { issueKey } from '../../support/application/factories';
import { connectClient, type McpUpstreamProcess, startMcpUpstream } from './mcp-stage';
import {
  bearer,
  type GatewayStage,
  openStage,
  route,
  type StartedGateway,
  startGateway,
  VENDOR_CREDENTIAL,
} from './stage';
import { type StandIn, startStandIn } from './stand-in';

describe('A key without the scope execute', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let server: McpUpstreamProcess;
  let gateway: StartedGateway;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn((_, response) => response.end('looked'));
    server = await startMcpUpstream();
    const routes = [route('GET /looked/:id', 'read', { record: false }), route('GET /read/:id', 'read')];
    gateway = await startGateway(stage, {
      vendor: { url: upstream.url, credentials: [VENDOR_CREDENTIAL], routes },
      shop: { mcp: server.url, credentials: [VENDOR_CREDENTIAL] },
    });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await server.stop();
    await upstream.close();
    await stage.close();
  });

  it.each([['read'], ['propose']] as const)('sends nothing with %s alone, on record or not', async (scope) => {
    const { secret } = await issueKey(stage.app, { name: scope, scopes: [scope], agentId: stage.agentId });
    const headers = bearer(secret);
    for (const path of ['/vendor/looked/1', '/vendor/read/1']) {
      const { status, error } = await gateway.call(path, { headers });
      expect([status, error?.reason]).toEqual([403, 'scope_missing']);
    }
    await expect(connectClient(`${gateway.url}/shop/mcp`, headers)).rejects.toThrow('scope_missing');
    expect(upstream.received).toEqual([]);
  });
});
