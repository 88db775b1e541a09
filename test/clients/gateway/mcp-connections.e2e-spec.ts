import { createAgent, issueKey } from '../../support/application/factories';
import { until } from '../../faults/support/watch';
import type { SessionlessConnections } from '../../../clients/cli/src/gateway/mcp/sessionless.js' with {
  'resolution-mode': 'import',
};
import { loadGatewayModule } from './gateway-modules';
import { type GovernedMessage, type McpStandIn, startMcpStandIn } from './mcp-stage';
import { bearer, type GatewayStage, openStage, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';

const MODERN = '2026-07-28';
const PREFIX = 'io.modelcontextprotocol';
const META = {
  [`${PREFIX}/protocolVersion`]: MODERN,
  [`${PREFIX}/clientCapabilities`]: {},
  [`${PREFIX}/clientInfo`]: { name: 'test', version: '1' },
};
/** The number of connections that all agents may have. */
const MANY = 200;
const TOGETHER = 10;

describe('Connections without a session', () => {
  let stage: GatewayStage;
  let upstream: McpStandIn;
  let gateway: StartedGateway;
  const running: GovernedMessage[] = [];

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startMcpStandIn((message) => running.push(message));
    gateway = await startGateway(stage, {
      shop: { mcp: `${upstream.url}/mcp`, credentials: [VENDOR_CREDENTIAL], timeout: 'PT10M' },
    });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  async function post(key: string, method: string, params: object = {}, run?: string): Promise<string> {
    const response = await fetch(`${gateway.url}/shop/mcp`, {
      method: 'POST',
      headers: {
        ...{ Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json', ...bearer(key) },
        ...{ 'MCP-Protocol-Version': MODERN, 'Mcp-Method': method },
        ...('name' in params && { 'Mcp-Name': String(params.name) }),
        ...(run !== undefined && { 'Governance-Run': run }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }),
    });
    expect(response.status).toBe(200);
    return response.text();
  }

  it('serve their calls to the end, however many another agent opens', async () => {
    const call = post(stage.key, 'tools/call', { name: 'write', arguments: { slow: true } });
    await until('the call runs', () => running.length === 1);
    const { id: agentId } = await createAgent(stage.app, { name: 'many', capabilities: ['*'] });
    const { secret } = await issueKey(stage.app, { name: 'many', scopes: ['execute'], agentId });
    for (let first = 0; first < MANY; first += TOGETHER)
      await Promise.all(
        Array.from({ length: TOGETHER }, (_, index) => post(secret, 'tools/list', {}, `run-${first + index}`)),
      );
    running[0]?.reply({ content: [{ type: 'text', text: 'done' }] });
    expect(await call).toContain('"text":"done"');
    const [execution] = await stage.executions(`&agentId=${stage.agentId}`);
    expect(await stage.ended(String(execution?.id))).toMatchObject({ outcome: 'executed' });
  });

  describe('end for others', () => {
    let connections: SessionlessConnections;
    let ended: string[];

    beforeEach(async () => {
      const { SessionlessConnections: Connections } = await loadGatewayModule('mcp/sessionless');
      connections = new Connections({ ofOneAgent: 2, all: 3 });
      ended = [];
    });

    /** Runs a request. @param finish ends it; by default it ends at once */
    const use = (key: string, finish: Promise<void> = Promise.resolve()): Promise<void> => {
      const connection = {
        fetch: () => Promise.reject(new Error('Nobody fetches.')),
        close: () => Promise.resolve(void ended.push(key)),
      };
      const user = { key, agentId: key.slice(0, 1), open: () => Promise.resolve(connection) };
      return connections.during(user, () => finish);
    };

    it('of their agent first, the longest idle one', async () => {
      for (const key of ['a1', 'b1', 'a2', 'a1', 'a3']) await use(key);
      expect(ended).toEqual(['a2']);
    });

    it('of the agent that has most', async () => {
      for (const key of ['b1', 'a1', 'a2', 'c1']) await use(key);
      expect(ended).toEqual(['a1']);
    });

    it('only if they serve nothing; without any, one more is refused', async () => {
      let finish = (): void => undefined;
      const lasting = new Promise<void>((resolve) => (finish = resolve));
      const uses = ['a1', 'a2', 'b1'].map((key) => use(key, lasting));
      for (const key of ['a3', 'c1']) await expect(use(key)).rejects.toMatchObject({ status: 503 });
      await use('a1');
      expect(ended).toEqual([]);
      finish();
      await Promise.all(uses);
      await use('c1');
      expect(ended).toEqual(['a2']);
    });
  });
});
