import { until } from '../../faults/support/watch';
import { issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { textOf } from '../mcp/mcp-clients';
import { connectClient, type McpUpstreamProcess, startMcpUpstream } from './mcp-stage';
import { bearer, type GatewayStage, openStage, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';

describe('An MCP server behind the gateway', () => {
  let stage: GatewayStage;
  let upstream: McpUpstreamProcess;
  let gateway: StartedGateway;
  let url: string;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startMcpUpstream();
    gateway = await startGateway(stage, { shop: { mcp: upstream.url, credentials: [VENDOR_CREDENTIAL] } });
    url = `${gateway.url}/shop/mcp`;
  });

  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.stop();
    await stage.close();
  });

  it.each(['legacy', 'modern'] as const)('is served to a client of the %s protocol', async (era) => {
    const { client } = await connectClient(url, bearer(stage.key), era);
    try {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(['read', 'write', 'refund']);

      const input = { era };
      const result = await client.callTool({ name: 'write', arguments: input });
      expect([result.isError, textOf(result)]).toEqual([undefined, JSON.stringify(input)]);
      const denied = await client.callTool({ name: 'wipe', arguments: input });
      expect(denied.isError).toBe(true);
      expect(upstream.ran()).toContain(`write ${JSON.stringify(input)}`);
      expect(upstream.ran()).not.toContain(`wipe ${JSON.stringify(input)}`);
    } finally {
      await client.close();
    }
    const [execution] = await stage.executions('&action=write');
    expect(await stage.ended(String(execution?.id))).toMatchObject({
      outcome: 'executed',
      via: 'shop',
      resourceType: 'tool',
      resourceId: 'shop/write',
      result: { sha256: expect.any(String), bytes: expect.any(Number) },
    });
  });

  it('shows no credential in results', async () => {
    const { client } = await connectClient(url, bearer(stage.key));
    const result = await client.callTool({ name: 'read' });
    await client.close();
    expect(textOf(result)).toBe('The credential is [credential].');
  });

  it('holds a call until it is approved, and runs it once', async () => {
    const { client } = await connectClient(url, bearer(stage.key));
    const call = client.callTool({ name: 'refund', arguments: { amount: 7 } });
    const pending = async () => (await stage.executions('&action=refund&outcome=pending_approval'))[0];
    await until('the call waits', async () => (await pending()) !== undefined);
    const execution = await pending();
    await stage.approve(String(execution?.decisionId));
    expect(textOf(await call)).toBe('{"amount":7}');
    await client.close();
    expect(await stage.ended(String(execution?.id))).toMatchObject({ outcome: 'executed', via: 'shop' });
    expect(upstream.ran().filter((ran) => ran.startsWith('refund'))).toEqual(['refund {"amount":7}']);
  });

  it('says that the key of a call ended while it waits', async () => {
    const { app, agentId } = stage;
    const { id, secret } = await issueKey(app, { name: 'short', scopes: ['execute'], agentId });
    const { client } = await connectClient(url, bearer(secret));
    const call = client.callTool({ name: 'refund', arguments: { amount: 8 } });
    const pending = async () => (await stage.executions('&action=refund&outcome=pending_approval'))[0];
    await until('the call waits', async () => (await pending()) !== undefined);
    await send(app, 'POST', `/api/v1/api-keys/${id}/revoke`, { body: { reason: 'It was shown.' } });
    expect(textOf(await call)).toBe(
      'refund was not run. The key or token of the agent ended while the call waited for its approval.',
    );
    await client.close();
    // Nothing waits any longer.
    await stage.approve(String((await pending())?.decisionId));
  });

  it.each(['legacy', 'modern'] as const)(
    'holds a call of the %s protocol, also while the file is read again',
    async (era) => {
      const readings = (): number => gateway.printed().split('were read again').length;
      const { client } = await connectClient(url, bearer(stage.key), era);
      const input = { held: era };
      const call = client.callTool({ name: 'refund', arguments: input });
      const pending = async () => (await stage.executions('&action=refund&outcome=pending_approval'))[0];
      await until('the call waits', async () => (await pending()) !== undefined);
      const execution = await pending();
      const before = readings();
      gateway.process.kill('SIGHUP');
      await until('the file was read again', () => readings() > before);
      await stage.approve(String(execution?.decisionId));
      expect(textOf(await call)).toBe(JSON.stringify(input));
      await client.close();
      expect((await stage.ended(String(execution?.id))).outcome).toBe('executed');
    },
  );
});
