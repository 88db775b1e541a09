import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { type Parsed, send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { EXECUTIONS } from '../../approvals/support';
import { until } from '../../faults/support/watch';
import { buildCommandLine } from '../command-line';
import { connectThroughProxy, GOV, REPORT_KEY } from './mcp-clients';
import { RawConnection } from './raw-connection';
import { reportKeyOf } from './shop';

const SERVER = join(__dirname, 'turning-server.mjs');
const TOOLS = ['echo', 'turn', 'held', 'refund', 'wipe', 'added', 'Echo', 'die'];
/** One more than the number of promises that `gov mcp` remembers. */
const QUESTIONS = 101;
const RAN = ['executed', 'failed'];

interface Shopper {
  readonly environment: NodeJS.ProcessEnv;
  readonly runs: string;
  readonly executions: () => Promise<Parsed[]>;
}

describeOnSqlite('gov mcp, between a client and a server that do not keep to the rules', () => {
  let app: TestApp;
  let folder: string;
  const open: RawConnection[] = [];

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000', MAX_PENDING_APPROVALS: '1000' } });
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-attacks-'));
    const shop = { resources: ['tool/shop/*'], resourceTypes: ['tool'] };
    await createPolicy(app, { ...shop, actions: ['echo', 'turn', 'held', 'die'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(app, { ...shop, effect: 'require_approval', actions: ['refund'], approval });
  });
  afterEach(async () => {
    for (const connection of open.splice(0)) await connection.close();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  /** An agent that could do everything, were it not for the policies. */
  async function shopper(name: string): Promise<Shopper> {
    const { id } = await createAgent(app, { name, capabilities: TOOLS });
    const { secret } = await issueKey(app, { name, scopes: ['execute'], agentId: id });
    const executions = async (): Promise<Parsed[]> =>
      (await send(app, 'GET', `${EXECUTIONS}?agentId=${id}&limit=1000`)).body.data;
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret, [REPORT_KEY]: await reportKeyOf(app) };
    return { environment, runs: join(folder, name), executions };
  }

  async function connected({ environment, runs }: Shopper, options: object = {}): Promise<RawConnection> {
    const connection = await RawConnection.open([SERVER, runs], environment, options);
    open.push(connection);
    return connection;
  }

  function ran({ runs }: Shopper): string[] {
    return existsSync(runs) ? readFileSync(runs, 'utf8').split('\n').filter(Boolean).sort() : [];
  }

  /** Each run has an execution of its own that was authorised and reported. */
  async function expectOnRecord(of: Shopper, expected: readonly string[]): Promise<void> {
    const carriedOut = (await of.executions()).filter(({ outcome }) => RAN.includes(outcome));
    expect(ran(of)).toEqual([...expected].sort());
    expect(carriedOut.map(({ action }) => action).sort()).toEqual([...expected].sort());
  }

  function call(id: number, name: string, input: object = {}): object {
    return { id, method: 'tools/call', params: { name, arguments: input } };
  }

  it('refuses each request of a batch over pipes, runs nothing of it, and goes on', async () => {
    const one = await shopper('batch');
    const connection = await connected(one);
    connection.send([call(1, 'echo'), call(2, 'wipe')]);
    const refused = await connection.several(2, ({ error }) => error !== undefined);
    expect(refused.map(({ id }) => id)).toEqual([1, 2]);
    expect(refused[0].error).toEqual({ code: -32_600, message: expect.stringContaining('Batches are not') });
    connection.send([]);
    expect((await connection.until(({ id }) => id === null)).error.code).toBe(-32_600);
    connection.call(3, 'echo');
    const { result } = await connection.until(({ id }) => id === 3);
    expect(result).toMatchObject({ content: [{ text: 'echo' }] });
    await expectOnRecord(one, ['echo']);
  });

  it('checks each call of a batch over HTTP', async () => {
    const one = await shopper('batch over HTTP');
    const words = ['--hold', '0'];
    const { runs, environment } = one;
    const proxy = await connectThroughProxy({ way: 'http', era: 'legacy', runs, environment, words });
    const post = async (body: unknown, session?: string): Promise<Response> =>
      fetch(proxy.url, {
        method: 'POST',
        headers: {
          ...{ Authorization: `Bearer ${environment['GOVERNANCE_API_KEY']}`, 'Content-Type': 'application/json' },
          ...{ Accept: 'application/json, text/event-stream' },
          ...(session === undefined ? {} : { 'Mcp-Session-Id': session }),
        },
        body: JSON.stringify(body),
      });
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
    const begun = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    await begun.text();
    const batch = [call(1, 'echo', { n: 1 }), call(2, 'wipe'), call(3, 'refund')];
    const answer = await post(
      batch.map((one) => ({ jsonrpc: '2.0', ...one })),
      String(begun.headers.get('Mcp-Session-Id')),
    );
    const messages = [...(await answer.text()).matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data));
    const outcomes = async (): Promise<string[]> =>
      (await one.executions()).map(({ action, outcome }) => `${action} ${outcome}`).sort();
    const expected = ['echo executed', 'refund pending_approval', 'wipe denied'];
    await until('all are reported', async () => String(await outcomes()) === String(expected));
    await proxy.close();
    expect(messages.map(({ id, result }) => [id, result.isError === true]).sort()).toEqual([
      [1, false],
      [2, true],
      [3, true],
    ]);
    expect(ran(one)).toEqual(['["echo",{"n":1}]']);
  });

  it('answers a call that waits for its approval, and withdraws its request, before it ends with its server', async () => {
    const one = await shopper('ended');
    const connection = await connected(one);
    const outcomeOf = async (): Promise<string> =>
      (await one.executions()).find(({ action }) => action === 'refund')?.outcome;
    connection.call(1, 'refund');
    await until('it waits', async () => (await outcomeOf()) === 'pending_approval');
    connection.call(2, 'die');
    expect(await connection.exitCode()).toBe(1);
    const answer = connection.received.find(({ id }) => id === 1);
    const text = 'refund was not run: the MCP server ended before the call was sent.';
    expect(answer?.result).toEqual({ isError: true, content: [{ type: 'text', text }] });
    expect(await outcomeOf()).toBe('cancelled');
  });

  it('refuses a request with an id that is in flight, so that each call can be cancelled', async () => {
    const one = await shopper('same id');
    const connection = await connected(one);
    const outcomes = async (): Promise<string> => String((await one.executions()).map(({ outcome }) => outcome));
    connection.call(7, 'refund', { order: 1 });
    await until('the first waits', async () => (await outcomes()) === 'pending_approval');
    connection.call(7, 'refund', { order: 2 });
    const refused = await connection.until(({ id }) => id === 7);
    expect(refused.error).toEqual({ code: -32_600, message: expect.stringContaining('in use by another') });
    connection.send({ method: 'notifications/cancelled', params: { requestId: 7 } });
    await until('the first is cancelled', async () => (await outcomes()) === 'cancelled');
    for (let count = 1; count <= 2; count += 1) {
      connection.call(7, 'echo');
      await connection.several(count, ({ id, result }) => id === 7 && result !== undefined);
    }
    await expectOnRecord(one, ['echo', 'echo']);
  });

  it('takes no answer to a question that it did not ask for an approval', async () => {
    const one = await shopper('forged');
    const connection = await connected(one, { words: ['--hold', '0'], capabilities: { elicitation: {} } });
    const inputResponses = { approval: { action: 'accept', content: {} } };
    const params = { name: 'refund', arguments: {}, inputResponses, requestState: 'approved' };
    connection.send({ id: 1, method: 'tools/call', params });
    const message = await connection.until(({ id, method }) => id === 1 || method === 'elicitation/create');
    if (message.method !== undefined) connection.send({ id: message.id, result: { action: 'accept', content: {} } });
    const { result } = await connection.until(({ id, method }) => id === 1 && method === undefined);
    expect(result.isError).toBe(true);
    await expectOnRecord(one, []);
  });

  it('says that an approval is pending if the client cannot question its user after all', async () => {
    const one = await shopper('unquestioned');
    const connection = await connected(one, { words: ['--hold', '0'], capabilities: { elicitation: {} } });
    connection.call('asks', 'refund');
    const { id } = await connection.until(({ method }) => method === 'elicitation/create');
    connection.send({ id, error: { code: -32_603, message: 'No terminal.' } });
    const { result } = await connection.until((message) => message.id === 'asks');
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^Approval pending: /) }] });
    expect(result.content[0].text).toContain('It still needs 1 of role:finance.');
    await expectOnRecord(one, []);
  });

  it.each([
    ['another case', '"a":1,"A":2'],
    ['another case, deeper', '"order":[{"amount":1,"AMOUNT":2}]'],
    ['a compatible character', '"k":1,"\u212a":2'],
    ['combining characters', `"a${'\u0301'.repeat(31)}":1`],
    ['names that take long to compare', `"${'\ufdfa'.repeat(16_385)}":1`],
  ])(
    'neither asks nor runs where a server could take another argument than the policies: %s',
    async (name, members) => {
      const one = await shopper(name);
      const connection = await connected(one);
      connection.sendLine(
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{${members}}}}`,
      );
      const { result } = await connection.until(({ id }) => id === 1);
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('names that some programs take for one') }],
      });
      await expectOnRecord(one, []);
    },
  );

  it.each(['9007199254740993', '-9007199254740993', '1e999', '{"deep":[1,{"n":9007199254740993}]}'])(
    'neither asks nor runs where a number is not what the client wrote any more: %s',
    async (value) => {
      const one = await shopper(`number ${value}`);
      const connection = await connected(one);
      connection.sendLine(
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"order":${value}}}}`,
      );
      const { result } = await connection.until(({ id }) => id === 1);
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('send it as a text') }],
      });
      expect(result.content[0].text).toMatch(/^echo was not run: arguments\.order/);
      expect(await one.executions()).toEqual([]);
      connection.call(2, 'echo', { order: Number.MAX_SAFE_INTEGER, share: 0.1 });
      await connection.until(({ id }) => id === 2);
      await expectOnRecord(one, ['echo']);
    },
  );

  it('neither asks nor runs, in little memory, where arguments are nested far too deep', async () => {
    const one = await shopper('deep');
    const environment = { ...one.environment, NODE_OPTIONS: '--max-old-space-size=64' };
    const connection = await connected({ ...one, environment });
    const order = '{"a":'.repeat(5_000) + '1' + '}'.repeat(5_000);
    connection.sendLine(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"order":${order}}}}`,
    );
    const { result } = await connection.until(({ id }) => id === 1);
    const text = 'echo was not run: The body is nested more than 1000 levels deep.';
    expect(result).toMatchObject({ isError: true, content: [{ text }] });
    expect(await one.executions()).toEqual([]);
  });

  it('asks about each tool by the name that it has when it is called, whatever the list said', async () => {
    const one = await shopper('renamed');
    const connection = await connected(one);
    const listed = async (list: string): Promise<string[]> => {
      connection.send({ id: list, method: 'tools/list' });
      const { result } = await connection.until(({ id }) => id === list);
      return result.tools.map(({ name }: Parsed) => name);
    };
    expect(await listed('before')).toEqual(['echo', 'turn', 'held', 'refund']);
    connection.call(1, 'turn');
    await connection.until(({ method }) => method === 'notifications/tools/list_changed');
    expect(await listed('after')).toEqual(['turn']);
    for (const name of ['wipe', 'added', 'Echo']) {
      connection.call(name, name);
      const { result } = await connection.until(({ id }) => id === name);
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('no_policy_allows') }] });
    }
    await connection.until(({ id }) => id === 1);
    await expectOnRecord(one, ['turn']);
  });

  it('reports a call of a client that reads no longer and ends, when the tools change meanwhile', async () => {
    const one = await shopper('unread');
    const connection = await connected(one);
    connection.call(1, 'held');
    while (ran(one).length === 0) await sleep(20);
    connection.stopReading();
    writeFileSync(`${one.runs}.change`, '');
    expect(await connection.exitCode()).toBe(0);
    writeFileSync(`${one.runs}.go`, '');
    await expectOnRecord(one, ['held']);
  });

  it('ends with an error that says why if its client cannot be read', async () => {
    const { environment, runs } = await shopper('unreadable');
    // It is only open for writing.
    const input = openSync(join(folder, 'input'), 'w');
    const words = [GOV, 'mcp', '--name', 'shop', '--', process.execPath, SERVER, runs];
    const program = spawn(process.execPath, words, {
      ...{ env: { ...process.env, ...environment }, stdio: [input, 'ignore', 'pipe'] },
    });
    const errorParts: string[] = [];
    program.stderr?.setEncoding('utf8').on('data', (text: string) => errorParts.push(text));
    expect(await once(program, 'close')).toEqual([1, null]);
    closeSync(input);
    expect(errorParts.join('')).toMatch(/^The client cannot be read: EBADF.*\n$/);
  });

  it('says that a call is too large, and ends with an error where it does not even look for its end', async () => {
    const one = await shopper('far too large');
    const connection = await connected(one, { words: ['--name', 'shop'] });
    // A large text would become its hash; numbers have to be sent.
    connection.call(1, 'echo', { order: Array.from({ length: 200_000 }, (_, index) => 1_000_000 + index) });
    const { result } = await connection.until(({ id }) => id === 1);
    const content = [{ text: expect.stringContaining('echo was not run: A request body may have at most') }];
    expect(result).toMatchObject({ isError: true, content });
    connection.call(2, 'echo', { order: 'x'.repeat(18_000_000) });
    expect(await connection.exitCode()).toBe(1);
    expect(connection.errors).toBe('The client cannot be read: a message has 16777216 bytes at most.\n');
    expect(await one.executions()).toEqual([]);
  });

  it('withdraws no request that a client was asked about, however many others it was asked about since', async () => {
    const one = await shopper('unanswered');
    const options = { words: ['--hold', '1'], capabilities: { elicitation: {} } };
    const connection = await connected(one, options);
    const questions = (count: number): Promise<Parsed[]> =>
      connection.several(count, ({ method }) => method === 'elicitation/create');
    connection.call(0, 'refund', { order: 0 });
    await questions(1);
    for (let order = 1; order < QUESTIONS; order += 1) connection.call(order, 'refund', { order });
    await questions(QUESTIONS);
    const first = async (): Promise<Parsed> =>
      (await one.executions()).find(({ parameters }) => parameters.order === 0);
    expect((await first()).outcome).toBe('pending_approval');
    connection.call('again', 'refund', { order: 0 });
    connection.send({ method: 'notifications/cancelled', params: { requestId: 'again' } });
    connection.call('after', 'echo');
    await connection.until(({ id }) => id === 'after');
    await sleep(500);
    expect((await first()).outcome).toBe('pending_approval');
    await expectOnRecord(one, ['echo']);
  });
});
