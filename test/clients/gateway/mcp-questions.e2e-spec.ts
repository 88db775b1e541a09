import { createAgent, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { until } from '../../faults/support/watch';
import { textOf } from '../mcp/mcp-clients';
import { RawConnection } from '../mcp/raw-connection';
import { connectClient, type McpUpstreamProcess, startMcpUpstream } from './mcp-stage';
import { bearer, type GatewayStage, openStage, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';

const TOOL = 'gov__request_approval';
const QUESTION = { title: 'May I close the account?', question: 'The customer has asked twice.', context: { n: 1 } };

interface ListedDecision {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly context: unknown;
}

describe('An agent that asks people', () => {
  let stage: GatewayStage;
  let upstream: McpUpstreamProcess;
  let gateway: StartedGateway;
  let url: string;

  beforeAll(async () => {
    stage = await openStage({ MAX_PENDING_APPROVALS: '1000' });
    upstream = await startMcpUpstream();
    const shop = { mcp: upstream.url, credentials: [VENDOR_CREDENTIAL], hold: 'PT0S' };
    gateway = await startGateway(stage, {
      asking: { ...shop, ask: ['role:finance'] },
      patient: { ...shop, ask: ['role:finance'], hold: 'PT60S' },
      silent: shop,
    });
    url = `${gateway.url}/asking/mcp`;
  });

  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.stop();
    await stage.close();
  });

  async function agentWith(name: string, ...scopes: string[]): Promise<Record<string, string>> {
    const { id: agentId } = await createAgent(stage.app, { name, capabilities: ['*'] });
    return bearer((await issueKey(stage.app, { name, scopes, agentId })).secret);
  }

  const decisions = async (name: string): Promise<ListedDecision[]> =>
    (await send(stage.app, 'GET', `/api/v1/decisions?type=question&proposedBy=${name}&limit=100`)).body.data;

  async function decide(id: string, verdict: 'approve' | 'reject', comment: string): Promise<void> {
    const body = { approverId: 'ann', comment };
    expect((await send(stage.app, 'POST', `/api/v1/decisions/${id}/${verdict}`, { body })).status).toBe(200);
  }

  it.each(['legacy', 'modern'] as const)('sees the tool if its key may propose (%s protocol)', async (era) => {
    const names = async (path: string, key: Record<string, string>): Promise<string[]> => {
      const { client } = await connectClient(`${gateway.url}/${path}/mcp`, key, era);
      const { tools } = await client.listTools();
      await client.close();
      return tools.map(({ name }) => name);
    };
    const askingKey = await agentWith(`sees ${era}`, 'execute', 'propose');
    expect(await names('asking', askingKey)).toEqual([TOOL, 'read', 'write', 'refund']);
    expect(await names('silent', askingKey)).toEqual(['read', 'write', 'refund']);
    expect(await names('asking', await agentWith(`cannot ${era}`, 'execute'))).toEqual(['read', 'write', 'refund']);
  });

  it('asks once for the same question of a run, and gets the answer', async () => {
    const key = await agentWith('asks', 'execute', 'propose');
    const run = { ...key, 'Governance-Run': 'a-run' };
    const { client } = await connectClient(url, run);
    const ask = async (question: object): Promise<string> =>
      textOf(await client.callTool({ name: TOOL, arguments: { ...question } }));
    expect(await ask(QUESTION)).toContain('Nobody has answered yet');
    expect(await ask({ ...QUESTION, context: { n: 1 } })).toContain('Nobody has answered yet');
    const [decision, ...others] = await decisions('asks');
    expect(others).toEqual([]);
    expect(decision).toMatchObject({
      ...{ title: QUESTION.title, description: QUESTION.question, context: { context: { n: 1 }, run: 'a-run' } },
      ...{ riskLevel: 'medium', approvers: [{ subjects: ['role:finance'], approvals: 1 }] },
    });
    await decide(String(decision?.id), 'approve', 'Once more, then close it.');
    const answer = await ask(QUESTION);
    expect(answer).toContain('The answer is yes');
    expect(answer).toContain('The words of a reviewer: "Once more, then close it."');
    expect(answer).toContain('authorises nothing');
    const { client: other } = await connectClient(url, { ...key, 'Governance-Run': 'another' });
    expect(textOf(await other.callTool({ name: TOOL, arguments: QUESTION }))).toContain('Nobody has answered yet');
    await other.close();
    await client.close();
    expect(await decisions('asks')).toHaveLength(2);
  });

  it('gets the answer of the last hour with any key of the agent, however many other questions it has asked', async () => {
    const { id: agentId } = await createAgent(stage.app, { name: 'has two keys', capabilities: ['*'] });
    const ask = async (name: string, question: object): Promise<string> => {
      const { secret } = await issueKey(stage.app, { name, scopes: ['execute', 'propose'], agentId });
      const { client } = await connectClient(url, { ...bearer(secret), 'Governance-Run': 'shared' });
      const answer = textOf(await client.callTool({ name: TOOL, arguments: { ...question } }));
      await client.close();
      return answer;
    };
    await ask('first', QUESTION);
    const [decision] = await decisions('has two keys');
    await decide(String(decision?.id), 'approve', 'Go on.');
    expect(await ask('second', QUESTION)).toContain(`The answer is yes (the decision ${decision?.id}).`);
    expect(await decisions('has two keys')).toHaveLength(1);
  });

  it('asks once with several keys at the same time', async () => {
    const { id: agentId } = await createAgent(stage.app, { name: 'asks at once', capabilities: ['*'] });
    const sessions = await Promise.all(
      ['one', 'two', 'three'].map(async (name) => {
        const { secret } = await issueKey(stage.app, { name, scopes: ['execute', 'propose'], agentId });
        return connectClient(url, { ...bearer(secret), 'Governance-Run': 'at once' });
      }),
    );
    const ask = async (): Promise<Set<string | undefined>> => {
      const answers = sessions.map(({ client }) => client.callTool({ name: TOOL, arguments: QUESTION }));
      return new Set((await Promise.all(answers)).map((answer) => /dec_\w+/.exec(textOf(answer))?.[0]));
    };
    await ask();
    expect((await ask()).size).toBe(1);
    const open = (await decisions('asks at once')).filter(({ status }) => status === 'proposed');
    expect(open).toHaveLength(1);
    await Promise.all(sessions.map(({ client }) => client.close()));
  });

  it('is refused a number that JavaScript would change', async () => {
    const key = await agentWith('counts', 'execute', 'propose');
    const { client } = await connectClient(url, key);
    const question = { ...QUESTION, context: { account: 2 ** 60 } };
    const answer = await client.callTool({ name: TOOL, arguments: question });
    expect(textOf(answer)).toContain('account');
    expect(await decisions('counts')).toEqual([]);
    await client.close();
  });

  it('waits as calls wait', async () => {
    const key = await agentWith('waits', 'execute', 'propose');
    const { client } = await connectClient(`${gateway.url}/patient/mcp`, key);
    const answer = client.callTool({ name: TOOL, arguments: QUESTION });
    await until('it is asked', async () => (await decisions('waits')).length === 1);
    await decide(String((await decisions('waits'))[0]?.id), 'reject', 'Not now.');
    expect(textOf(await answer)).toContain('The answer is no');
    await client.close();
  });

  it('withdraws its question with the call that asked, and can ask it again', async () => {
    const key = await agentWith('leaves', 'execute', 'propose');
    const { client } = await connectClient(`${gateway.url}/patient/mcp`, key);
    const ask = async (signal?: AbortSignal): Promise<string> =>
      textOf(await client.callTool({ name: TOOL, arguments: QUESTION }, signal && { signal }));
    const statuses = async (): Promise<string[]> => (await decisions('leaves')).map(({ status }) => status);
    const controller = new AbortController();
    const left = ask(controller.signal).catch(() => 'left');
    await until('it is asked', async () => (await decisions('leaves')).length === 1);
    controller.abort();
    expect(await left).toBe('left');
    await until('the question is cancelled', async () => (await statuses()).at(-1) === 'cancelled');
    const again = ask();
    await until('it is asked again', async () => (await statuses()).at(-1) === 'proposed');
    await decide(String((await decisions('leaves')).at(-1)?.id), 'approve', 'Now.');
    expect(await again).toContain('The answer is yes');
    expect(await statuses()).toEqual(['cancelled', 'approved']);
    await client.close();
  });

  it('has at most 20 open questions, and each is valid', async () => {
    const { client } = await connectClient(url, await agentWith('many', 'execute', 'propose'));
    const ask = async (question: Record<string, unknown>): Promise<string> => {
      const result = await client.callTool({ name: TOOL, arguments: question });
      return `${result.isError === true} ${textOf(result)}`;
    };
    expect(await ask({ ...QUESTION, title: 'x'.repeat(201) })).toContain('true The title must have 1 to 200');
    expect(await ask({ ...QUESTION, question: '' })).toContain('true The question must have 1 to 2000');
    expect(await ask({ ...QUESTION, context: 'text' })).toMatch(/^true .* takes "title"/);
    for (let count = 0; count < 20; count += 1) await ask({ ...QUESTION, title: `question ${count}` });
    expect(await ask({ ...QUESTION, title: 'one too many' })).toMatch(
      /^true .* 20 open questions, and at most 20 may be open: wait for answers, or cancel some\./,
    );
    expect(await ask({ ...QUESTION, title: 'question 7' })).toContain('Nobody has answered yet');
    await client.close();
    expect(await decisions('many')).toHaveLength(20);
  });

  it('asks through gov mcp as well', async () => {
    const { Authorization: key = '' } = await agentWith('pipes', 'execute', 'propose');
    const environment = { GOVERNANCE_URL: stage.app.url, GOVERNANCE_API_KEY: key.replace('Bearer ', '') };
    const words = ['--ask', 'role:finance', 'agent:ann', '--hold', '0', '--name', 'shop', '--url', upstream.url];
    const header = ['--header', `Authorization: Bearer sk-vendor-credential-0815`];
    const connection = await RawConnection.open([], environment, { words: [...words, ...header] });
    connection.call(1, TOOL, QUESTION);
    const { result } = await connection.until(({ id }) => id === 1);
    expect(result.content[0].text).toContain('Nobody has answered yet');
    await connection.close();
    expect((await decisions('pipes'))[0]).toMatchObject({ approvers: [{ subjects: ['role:finance', 'agent:ann'] }] });
  });
});
