import { setTimeout as sleep } from 'node:timers/promises';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import type { RawConnection } from './raw-connection';
import { answer, shortWaits, Strangers, WITH_EVERYTHING } from './strangers';

const NEVER = ['%NEVER%'];
const UNKNOWN = 'It is not known what odd__greet has done';
/** Milliseconds that `gov mcp` waits for a call, for a handshake, and for a list before it serves the others. */
const [CALL, HANDSHAKE, HOLD_UP] = [3_600_000, 60_000, 10_000];
const WITHOUT_HANDSHAKE = '2026-07-28';
const GOOD = {
  initialize: [WITH_EVERYTHING],
  'prompts/list': [answer({ result: { prompts: [{ name: 'hello' }] } })],
  'resources/list': [answer({ result: { resources: [{ uri: 'note://good/a', name: 'note' }] } })],
  'resources/templates/list': [answer({ result: { resourceTemplates: [] } })],
};

describeOnSqlite.each(['stdio', 'http'] as const)('A server that does not answer, over %s', (way) => {
  let strangers: Strangers;
  const open: RawConnection[] = [];

  beforeAll(async () => (strangers = await Strangers.open()));
  afterEach(async () => {
    for (const connection of open.splice(0)) await connection.close();
  });
  afterAll(() => strangers.close());

  async function connect(odd: object, environment: NodeJS.ProcessEnv = {}): Promise<RawConnection> {
    const connection = await strangers.connect(way, odd, GOOD, environment);
    open.push(connection);
    return connection;
  }

  it('never ends the calls of others, and its own ends as one whose outcome is unknown', async () => {
    const connection = await connect({ 'tools/call': NEVER }, shortWaits(CALL));
    const silent = strangers.call(connection, 'odd__greet');
    expect(await strangers.call(connection, 'good__greet')).toBe('done');
    expect(await silent).toContain(UNKNOWN);
    strangers.answers('odd', {});
    expect(await strangers.call(connection, 'odd__greet')).toBe('done');
  });

  it('is left out of lists while it is silent, and pings and completions do not wait for it', async () => {
    const lists = ['tools', 'prompts', 'resources'].map((list) => [`${list}/list`, NEVER]);
    const odd = { initialize: [WITH_EVERYTHING], ...Object.fromEntries(lists), ping: NEVER };
    const connection = await connect({ ...odd, 'logging/setLevel': NEVER, 'completion/complete': NEVER });
    const lists3 = Promise.all(
      (['tools', 'prompts', 'resources'] as const).map((list) => strangers.names(connection, list)),
    );
    expect(await strangers.ask(connection, 'ping')).toMatchObject({ result: {} });
    const { error } = await strangers.ask(connection, 'completion/complete');
    expect(error.message).toContain('does not pass on completion/complete');
    expect(await lists3).toEqual([['good__greet'], ['good__hello'], ['note']]);
    expect(await strangers.ask(connection, 'logging/setLevel', { level: 'info' })).toMatchObject({ result: {} });
    expect(await strangers.call(connection, 'odd__greet')).toBe('done');
    strangers.answers('odd', { initialize: [WITH_EVERYTHING] });
    expect(await strangers.names(connection, 'tools')).toEqual(['odd__greet', 'good__greet']);
  });

  it('may be silent from its handshake on: the others are served, and it is asked again later', async () => {
    const silent = { initialize: NEVER, 'server/discover': NEVER };
    const connection = await connect(silent, shortWaits(HANDSHAKE));
    expect(await strangers.names(connection, 'tools')).toEqual(['good__greet']);
    const call = strangers.call(connection, 'odd__greet');
    expect(await strangers.call(connection, 'good__greet')).toBe('done');
    expect(await call).toMatch(/odd__greet failed|not known what odd__greet has done/);
    strangers.answers('odd', {});
    expect(await strangers.names(connection, 'tools')).toEqual(['odd__greet', 'good__greet']);
  });

  it('does not keep the call of a client that cancels it before the server has shaken hands', async () => {
    const silent = { initialize: NEVER, 'server/discover': NEVER };
    const connection = await connect(silent, shortWaits(HOLD_UP));
    connection.call('cancelled', 'odd__greet');
    await strangers.ask(connection, 'ping');
    connection.send({ method: 'notifications/cancelled', params: { requestId: 'cancelled' } });
    const failed = async (): Promise<boolean> => {
      const { body } = await send(strangers.app, 'GET', '/api/v1/executions?limit=1&order=desc');
      return body.data[0]?.outcome === 'failed';
    };
    while (!(await failed())) await strangers.ask(connection, 'ping');
  });

  it.each(['%CUT%', ...(way === 'stdio' ? ['%HELPER%', '%DEAF%'] : [])])(
    'may end the connection in a call or a list (%s): that ends this one alone',
    async (fate) => {
      const connection = await connect({ 'tools/call': [fate] });
      const cut = strangers.call(connection, 'odd__greet');
      expect(await strangers.call(connection, 'good__greet')).toBe('done');
      // A server that reads no longer shows it only when it is sent something.
      while (fate === '%DEAF%' && strangers.requests().at(-1)?.[0] !== 'tools/call')
        await strangers.ask(connection, 'ping');
      const next = fate === '%DEAF%' ? strangers.names(connection, 'tools') : null;
      expect(await cut).toContain(UNKNOWN);
      await next;
      strangers.answers('odd', { 'tools/list': [fate] });
      if (fate !== '%DEAF%') expect(await strangers.names(connection, 'tools')).toEqual(['good__greet']);
      strangers.answers('odd', {});
      expect(await strangers.names(connection, 'tools')).toEqual(['odd__greet', 'good__greet']);
      expect(await strangers.call(connection, 'odd__greet')).toBe('done');
    },
  );
});

describeOnSqlite('The only server, if it does not answer', () => {
  it('ends a list with an error in time, and serves the rest', async () => {
    const strangers = await Strangers.open();
    const connection = await strangers.connectToOne({ 'tools/list': NEVER }, shortWaits(HANDSHAKE));
    const { error } = await strangers.ask(connection, 'tools/list');
    expect(error.message).toMatch(/timed out|timeout/i);
    expect(await strangers.call(connection, 'greet')).toBe('done');
    await connection.close();
    await strangers.close();
  });

  it('is not connected to again when the client leaves while it lists, and gov mcp ends', async () => {
    const strangers = await Strangers.open();
    const connection = await strangers.connect('http', { 'tools/list': NEVER });
    const count = (name: string): number => strangers.requests().filter(([method]) => method === name).length;
    while (count('tools/list') === 0) await sleep(20);
    const before = count('initialize');
    await connection.close();
    expect(count('initialize')).toBe(before);
    await strangers.close();
  });

  it('ends a call for which it reports progress for ever', async () => {
    const strangers = await Strangers.open();
    const connection = await strangers.connectToOne({ 'tools/call': ['%PROGRESS%'] }, shortWaits(CALL));
    const call = { name: 'greet', arguments: {}, _meta: { progressToken: 'p' } };
    const { result } = await strangers.ask(connection, 'tools/call', call);
    expect(result.content[0].text).toContain('It is not known what greet has done');
    await connection.close();
    await strangers.close();
  });

  it('ends a call to which it answers with ever more rounds', async () => {
    const strangers = await Strangers.open();
    const connection = await strangers.connectToOne(
      {
        initialize: [
          answer({ error: { code: -32_022, message: 'No handshake.', data: { supported: [WITHOUT_HANDSHAKE] } } }),
        ],
        'server/discover': [
          answer({
            result: {
              ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
              supportedVersions: [WITHOUT_HANDSHAKE],
              capabilities: { tools: {} },
              _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'odd', version: '1' } },
            },
          }),
        ],
        'tools/call': [answer({ result: { resultType: 'input_required', requestState: 'further' } })],
      },
      { ...shortWaits(CALL), SHORT_WAIT_MS: '500' },
    );
    expect(await strangers.call(connection, 'greet')).toMatch(/not known what greet has done.*timed out/);
    await connection.close();
    await strangers.close();
  });
});
