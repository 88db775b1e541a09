import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { buildCommandLine } from '../command-line';
import { openDoor } from '../gateway/service-door';
import { CLI, connectThroughProxy, type ProxyOptions, TOOL_SERVER } from './mcp-clients';
import { RawConnection } from './raw-connection';

const SHOP = { resources: ['tool/shop/*'], resourceTypes: ['tool'] };
const IS_LARGE = [{ parameter: '/amount', op: 'gt', value: 100 }];
const IS_URGENT = [{ parameter: '/urgent', op: 'eq', value: true }];
/** More than two questions with `explain` hold. */
const MANY = Array.from({ length: 120 }, (_, at) => `tool-${at}`);

describeOnSqlite('The tools that gov mcp lists', () => {
  let app: TestApp;
  let folder: string;
  let environment: NodeJS.ProcessEnv;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000', RATE_WINDOW: '3600000' } });
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-tools-'));
    const { id } = await createAgent(app, {
      name: 'bot',
      capabilities: ['pay', 'ship', 'hire', 'fire', 'idle', ...MANY],
    });
    const { secret } = await issueKey(app, { name: 'bot', scopes: ['execute'], agentId: id });
    environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret };
    const policy = (effect: string, action: string, rest: object = {}): Promise<unknown> =>
      createPolicy(app, { ...SHOP, effect, actions: [action], ...rest });
    await policy('allow', 'pay');
    await policy('deny', 'pay', { conditions: IS_LARGE, priority: 1 });
    await policy('allow', 'ship', { conditions: IS_URGENT });
    await policy('deny', 'ship', { conditions: IS_LARGE });
    await policy('deny', 'hire', { conditions: IS_LARGE });
    await policy('allow', 'fire');
    await policy('deny', 'fire');
    await policy('allow', 'tool-*');
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  async function listed(tools: readonly string[], others: Partial<ProxyOptions> = {}): Promise<string[]> {
    const options = { way: 'stdio', era: 'legacy', runs: join(folder, 'runs'), environment, tools } as const;
    const { client, close } = await connectThroughProxy({ ...options, ...others });
    try {
      return (await client.listTools()).tools.map(({ name }) => name);
    } finally {
      await close();
    }
  }

  async function requestsLeft(): Promise<number> {
    return Number((await send(app, 'GET', '/api/v1/me')).headers.get('X-RateLimit-Remaining'));
  }

  it('include those that a policy denies under conditions, if other arguments could be allowed', async () => {
    expect(await listed(['pay', 'ship', 'hire', 'fire'])).toEqual(['pay', 'ship']);
  });

  it.each([
    [['fire'], '1 tool hidden: a policy denies it.\n'],
    [['sell'], '1 tool hidden: the agent lacks the capability for it.\n'],
    [['sell', 'lend'], '2 tools hidden: the agent lacks the capability for them.\n'],
    [
      ['pay', 'idle', 'sell', 'lend', 'a/../b'],
      '4 tools hidden: no policy allows 1 of them, the agent lacks the capability for 2 of them, policies cannot name 1 of them.\n',
    ],
  ])('are not all: why some are hidden, of %j', async (tools, expectedErrors) => {
    const server = [TOOL_SERVER, CLI, join(folder, 'runs'), 'stdio', 'legacy', ...tools];
    const connection = await RawConnection.open(server, environment, { words: ['--name', 'shop'] });
    connection.send({ id: 'list', method: 'tools/list' });
    await connection.until(({ id }) => id === 'list');
    await connection.close();
    expect(connection.errors).toBe(expectedErrors);
  });

  it('are not said to be none because there is no such agent', async () => {
    const operator = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
    const listing = listed(['pay'], { environment: operator, words: ['--agent', 'nobody'] });
    await expect(listing).rejects.toThrow('agent must be the id or the name of an existing agent');
  });

  it('are asked about once, up to 1,000 in a question, until policies change', async () => {
    const many = [...MANY, ...Array.from({ length: 5_880 }, (_, at) => `other-${at}`)];
    const options = { way: 'stdio', era: 'legacy', runs: join(folder, 'runs'), environment, tools: many } as const;
    const { client, close } = await connectThroughProxy(options);
    const cost = async (): Promise<number> => {
      const before = await requestsLeft();
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(MANY);
      // Without the request that shows what is left.
      return before - (await requestsLeft()) - 1;
    };
    try {
      // Six questions.
      expect(await cost()).toBe(6);
      expect(await cost()).toBe(1);
      await createPolicy(app, { ...SHOP, actions: ['unrelated'] });
      expect(await cost()).toBe(7);
    } finally {
      await close();
    }
  });

  it('are not asked about for ever while policies change with each answer', async () => {
    const door = await openDoor(app.url);
    door.answerTurnOf = async (path) => {
      if (path.endsWith('/evaluate')) await createPolicy(app, { ...SHOP, actions: ['unrelated'] });
    };
    const many = [...MANY, ...Array.from({ length: 1_000 }, (_, at) => `other-${at}`)];
    const own = { ...environment, GOVERNANCE_URL: door.url };
    try {
      const tools = await listed(many, { environment: own });
      expect(MANY).toEqual(expect.arrayContaining(tools));
    } finally {
      await door.close();
    }
  });

  it('are asked about in shorter questions if the service takes no longer ones', async () => {
    const small = await createTestApp({ environment: { RATE_LIMIT: '1000000', BODY_LIMIT: '10000' } });
    const { id } = await createAgent(small, { name: 'bot', capabilities: MANY });
    await createPolicy(small, { ...SHOP, actions: ['tool-*'] });
    const { secret } = await issueKey(small, { name: 'bot', scopes: ['execute'], agentId: id });
    const many = [...MANY, ...Array.from({ length: 500 }, (_, at) => `other-${at}`)];
    const own = { GOVERNANCE_URL: small.url, GOVERNANCE_API_KEY: secret };
    try {
      expect(await listed(many, { environment: own })).toEqual(MANY);
    } finally {
      await small.close();
    }
  });

  it('do not include those with names of more than 256 characters, which take no others with them', async () => {
    const [longest, long] = ['tool-'.padEnd(100, 'x'), 'tool-'.padEnd(257, 'x')];
    // Together they would be more than the service takes in a question.
    const huge = Array.from({ length: 600 }, (_, at) => `tool-${at}-`.padEnd(2_000, 'x'));
    const { id } = await createAgent(app, { name: 'long', capabilities: ['tool-*'] });
    const { secret } = await issueKey(app, { name: 'long', scopes: ['execute'], agentId: id });
    const own = { ...environment, GOVERNANCE_API_KEY: secret };
    const server = [TOOL_SERVER, CLI, join(folder, 'runs'), 'stdio', 'legacy', longest, long, ...huge, 'tool-1'];
    const connection = await RawConnection.open(server, own, { words: ['--name', 'shop'] });
    connection.send({ id: 'list', method: 'tools/list' });
    const { result } = await connection.until((message) => message.id === 'list');
    expect(result.tools.map(({ name }: { name: string }) => name)).toEqual([longest, 'tool-1']);
    connection.call('call', long);
    const refused = (await connection.until((message) => message.id === 'call')).result;
    expect([refused.isError, refused.content[0].text]).toEqual([true, expect.stringContaining('was not run')]);
    await connection.close();
    expect(connection.errors).toContain('601 tools hidden: policies cannot name them.\n');
  });

  it('are said to have changed, without a list, once policies have, and only then', async () => {
    const server = [TOOL_SERVER, CLI, join(folder, 'runs'), 'stdio', 'legacy', 'pay', 'idle'];
    const preload = `--require ${join(__dirname, 'short-waits.cjs')}`;
    const own = { ...environment, NODE_OPTIONS: preload, SHORT_WAITS: '30000' };
    const connection = await RawConnection.open(server, own, { words: ['--name', 'shop'] });
    connection.send({ id: 'list', method: 'tools/list' });
    await connection.until(({ id }) => id === 'list');
    const before = await requestsLeft();
    // So it looks while nothing changes.
    while (before - (await requestsLeft()) < 20);
    expect(connection.received.filter(({ method }) => method !== undefined)).toEqual([]);
    await createPolicy(app, { ...SHOP, actions: ['idle'] });
    for (const kind of ['tools', 'prompts', 'resources'])
      await connection.until(({ method }) => method === `notifications/${kind}/list_changed`);
    connection.send({ id: 'again', method: 'tools/list' });
    const { result } = await connection.until(({ id }) => id === 'again');
    expect(result.tools.map(({ name }: { name: string }) => name)).toEqual(['pay', 'idle']);
    await connection.close();
  });

  it('are not asked about with more than half of what the rate limit leaves', async () => {
    const limited = await createTestApp({ environment: { RATE_LIMIT: '10' } });
    const { id } = await createAgent(limited, { name: 'bot', capabilities: ['tool-0'] });
    await createPolicy(limited, { ...SHOP, actions: ['*'] });
    const { secret } = await issueKey(limited, { name: 'bot', scopes: ['execute'], agentId: id });
    const many = Array.from({ length: 6_000 }, (_, at) => `tool-${at}`);
    const own = { GOVERNANCE_URL: limited.url, GOVERNANCE_API_KEY: secret };
    try {
      expect(await listed(many, { environment: own })).toEqual(['tool-0']);
      const answer = await send(limited, 'GET', '/api/v1/me');
      // Three requests before, one for who the agent is, three of the six that were left, and this one.
      expect(answer.headers.get('X-RateLimit-Remaining')).toBe('2');
    } finally {
      await limited.close();
    }
  });
});
