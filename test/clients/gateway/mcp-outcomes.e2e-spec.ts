import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionResponse } from '../../../src/governance/executions/dto/execution.dto';
import { until } from '../../faults/support/watch';
import { createAgent, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { textOf } from '../mcp/mcp-clients';
import { connectClient, type McpUpstreamProcess, startMcpStandIn, startMcpUpstream } from './mcp-stage';
import { openDoor } from './service-door';
import {
  bearer,
  type GatewayStage,
  openStage,
  type StartedGateway,
  startGateway,
  startGatewayFile,
  VENDOR_CREDENTIAL,
} from './stage';

describe('What becomes of MCP calls at the gateway', () => {
  let stage: GatewayStage;

  beforeAll(async () => {
    stage = await openStage();
  });

  afterAll(() => stage.close());

  const startFor = (upstream: McpUpstreamProcess, name: string): Promise<StartedGateway> =>
    startGateway(stage, { shop: { mcp: upstream.url, credentials: [VENDOR_CREDENTIAL] } }, { name });

  async function anotherAgent(name: string): Promise<{ readonly id: string; readonly key: string }> {
    const { id } = await createAgent(stage.app, { name, capabilities: ['*'] });
    const { secret: key } = await issueKey(stage.app, { name, scopes: ['execute'], agentId: id });
    return { id, key };
  }

  async function onlyExecution(agentId: string): Promise<ExecutionResponse> {
    const [execution] = await stage.executions(`&agentId=${agentId}&action=write`);
    return stage.ended(String(execution?.id));
  }

  it('a stop ends a call that runs', async () => {
    const upstream = await startMcpUpstream();
    const gateway = await startFor(upstream, 'stopped');
    const agent = await anotherAgent('stopped');
    const { client } = await connectClient(`${gateway.url}/shop/mcp`, bearer(agent.key));
    const call = client.callTool({ name: 'write', arguments: { hang: true } });
    await until('the tool runs', () => upstream.ran().length === 1);
    await send(stage.app, 'POST', '/api/v1/stops', { body: { agentId: agent.id, reason: 'a test' } });
    expect(textOf(await call)).toContain('Somebody stopped the agent');
    expect(await onlyExecution(agent.id)).toMatchObject({ outcome: 'failed', reason: 'stopped' });
    await client.close();
    expect(await gateway.stop()).toBe(0);
    await upstream.stop();
  });

  it('a server that ends during a call leaves its outcome unknown, and the same call is refused unless it is repeated knowingly', async () => {
    const upstream = await startMcpUpstream();
    const gateway = await startFor(upstream, 'unknown');
    const agent = await anotherAgent('unknown');
    const { client } = await connectClient(`${gateway.url}/shop/mcp`, bearer(agent.key));
    const call = client.callTool({ name: 'write', arguments: { hang: true } });
    await until('the tool runs', () => upstream.ran().length === 1);
    await upstream.stop();
    expect(textOf(await call)).toContain('It is not known what write has done');
    const execution = await onlyExecution(agent.id);
    expect(execution).toMatchObject({ outcome: 'failed', reason: 'outcome_unknown' });
    const again = await client.callTool({ name: 'write', arguments: { hang: true } });
    expect([again.isError, textOf(again)]).toEqual([true, expect.stringContaining('outcome_unknown')]);
    await client.close();
    expect(await gateway.stop()).toBe(0);

    const next = await startMcpUpstream();
    const nextGateway = await startFor(next, 'unknown');
    const headers = { ...bearer(agent.key), 'Governance-Repeat': execution.id };
    const { client: knowing } = await connectClient(`${nextGateway.url}/shop/mcp`, headers);
    const repeated = knowing.callTool({ name: 'write', arguments: { hang: true } });
    await until('the tool runs again', () => next.ran().length === 1);
    await next.stop();
    await repeated;
    await knowing.close();
    await nextGateway.stop();
  });

  it('a call that needs an approval passes by another one, if it is repeated knowingly', async () => {
    const tools = [{ name: 'refund', inputSchema: { type: 'object' } }];
    const upstream = await startMcpStandIn(({ response }) => void response.socket?.resetAndDestroy(), {
      lists: { 'tools/list': { tools } },
    });
    const shop = { mcp: `${upstream.url}/mcp`, hold: 'PT0S', credentials: [VENDOR_CREDENTIAL] };
    const gateway = await startGateway(stage, { shop }, { name: 'approved' });
    const agent = await anotherAgent('approved');
    /** Calls the tool, has it approved, and calls it again; returns its execution. */
    const approved = async (headers: Record<string, string>): Promise<ExecutionResponse> => {
      const { client } = await connectClient(`${gateway.url}/shop/mcp`, { ...bearer(agent.key), ...headers });
      await client.callTool({ name: 'refund' });
      const [waiting] = await stage.executions(`&agentId=${agent.id}&outcome=pending_approval`);
      await stage.approve(String(waiting?.decisionId));
      await client.callTool({ name: 'refund' });
      await client.close();
      return stage.ended(String(waiting?.id));
    };
    const run = { 'Governance-Run': 'one' };
    const first = await approved(run);
    expect(first).toMatchObject({ outcome: 'failed', reason: 'outcome_unknown' });
    await approved({ ...run, 'Governance-Repeat': first.id });
    expect(upstream.governed()).toHaveLength(2);
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
  });

  it('a call is not sent again before the service has taken that its outcome is not known', async () => {
    const upstream = await startMcpStandIn(({ response }) => void response.socket?.resetAndDestroy());
    const door = await openDoor(stage.app.url);
    const shop = { mcp: `${upstream.url}/mcp`, credentials: [VENDOR_CREDENTIAL] };
    const gateway = await startGateway(stage, { shop }, { name: 'untaken', file: { service: door.url } });
    const agent = await anotherAgent('untaken');
    const { client } = await connectClient(`${gateway.url}/shop/mcp`, bearer(agent.key));
    let take: () => void = () => undefined;
    const turn = new Promise<void>((resolve) => (take = resolve));
    door.turnOf = (path) => (/\/results?$/.test(path) ? turn : Promise.resolve());
    expect(textOf(await client.callTool({ name: 'write' }))).toContain('It is not known what write has done');
    const again = client.callTool({ name: 'write' });
    await sleep(500);
    take();
    expect(textOf(await again)).toContain('outcome_unknown');
    expect(upstream.governed()).toHaveLength(1);
    await client.close();
    expect(await gateway.stop()).toBe(0);
    await door.close();
    await upstream.close();
  });

  it('a gateway that is killed during a call reports at its next start that the outcome is unknown', async () => {
    const upstream = await startMcpUpstream();
    const gateway = await startFor(upstream, 'killed');
    const agent = await anotherAgent('killed');
    const { client } = await connectClient(`${gateway.url}/shop/mcp`, bearer(agent.key));
    const call = client.callTool({ name: 'write', arguments: { hang: true } }).catch(() => null);
    await until('the tool runs', () => upstream.ran().length === 1);
    await gateway.stop('SIGKILL');
    const next = await startGatewayFile(stage, gateway.file, gateway.journal);
    expect(await onlyExecution(agent.id)).toMatchObject({ outcome: 'failed', reason: 'outcome_unknown' });
    await client.close();
    await call;
    expect(await next.stop()).toBe(0);
    await upstream.stop();
  });

  it('a server that cannot be reached is 502 at the beginning of a session', async () => {
    const upstream = await startMcpUpstream();
    const gateway = await startFor(upstream, 'unreachable');
    await upstream.stop();
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const { status, error } = await gateway.call('/shop/mcp', {
      json: { jsonrpc: '2.0', id: 0, method: 'initialize', params },
    });
    expect([status, error?.reason]).toEqual([502, 'upstream_unreachable']);
    expect(await gateway.stop()).toBe(0);
  });

  it('tools have the names of the map', async () => {
    const upstream = await startMcpUpstream();
    const tools = { write: { action: 'read', resourceType: 'file', resourceId: 'notes/today' } };
    writeFileSync(join(stage.folder, 'map.json'), JSON.stringify({ tools }));
    const shop = { mcp: upstream.url, credentials: [VENDOR_CREDENTIAL], map: 'map.json' };
    const gateway = await startGateway(stage, { shop }, { name: 'mapped' });
    const agent = await anotherAgent('mapped');
    const { client } = await connectClient(`${gateway.url}/shop/mcp`, bearer(agent.key));
    const result = await client.callTool({ name: 'write', arguments: { text: 'a' } });
    expect(textOf(result)).toBe('{"text":"a"}');
    await client.close();
    const [execution] = await stage.executions(`&agentId=${agent.id}`);
    expect(execution).toMatchObject({ action: 'read', resourceType: 'file', resourceId: 'notes/today' });
    expect(upstream.ran()).toEqual(['write {"text":"a"}']);
    expect(await gateway.stop()).toBe(0);
    await upstream.stop();
  });
});
