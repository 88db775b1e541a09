import { describeOnSqlite } from '../../support/database/database-kind';
import type { RawConnection } from './raw-connection';
import { answer, Strangers, WITH_EVERYTHING } from './strangers';

const URI = 'note://odd/a';
const OTHER = 'note://odd/b';
const ODD = {
  initialize: [WITH_EVERYTHING],
  'resources/list': [answer({ result: { resources: [URI, OTHER].map((uri) => ({ uri, name: uri })) } })],
  'resources/templates/list': [answer({ result: { resourceTemplates: [] } })],
};
const SETTINGS = ['logging/setLevel', 'resources/subscribe'];

describeOnSqlite('A client of gov mcp, when a server has forgotten what it had set', () => {
  let strangers: Strangers;
  const open: RawConnection[] = [];

  beforeAll(async () => (strangers = await Strangers.open()));
  afterEach(async () => {
    for (const connection of open.splice(0)) await connection.close();
  });
  afterAll(() => strangers.close());

  async function connect(way: 'stdio' | 'http', odd: object): Promise<RawConnection> {
    const connection = await strangers.connect(way, odd);
    open.push(connection);
    return connection;
  }

  /** Returns the settings that the server got again after its call had failed or its session was gone. */
  function settingsSince(count: number): [string, string | null][] {
    return strangers
      .requests()
      .slice(count)
      .filter(([method]) => SETTINGS.includes(method));
  }

  it.each([
    ['stdio', { 'tools/call': ['%CUT%'] }],
    ['http', { epoch: 'second' }],
    ['http', { epoch: 'third', forgotten: 400 }],
  ] as const)('has its log level and subscriptions set again (%s, %j)', async (way, forgetting) => {
    const connection = await connect(way, ODD);
    await strangers.ask(connection, 'logging/setLevel', { level: 'warning' });
    for (const uri of [URI, OTHER])
      expect(await strangers.ask(connection, 'resources/subscribe', { uri })).toMatchObject({ result: {} });
    await strangers.ask(connection, 'resources/unsubscribe', { uri: OTHER });
    strangers.answers('odd', { ...ODD, ...forgetting });
    await strangers.call(connection, 'odd__greet');
    const before = strangers.requests().length;
    if (way === 'stdio') strangers.answers('odd', ODD);
    expect(await strangers.call(connection, 'odd__greet')).toBe('done');
    const since = way === 'stdio' ? before : 0;
    while (settingsSince(since).at(-1)?.[0] !== 'resources/subscribe') await strangers.ask(connection, 'ping');
    const expected = [
      ['logging/setLevel', 'warning'],
      ['resources/subscribe', URI],
    ];
    expect(settingsSince(since).slice(-2)).toEqual(expected);
  });

  it('reads no resource from a server that has said that its list has changed, and lists it no more', async () => {
    const text = answer({ result: { contents: [{ uri: URI, text: 'a' }] } });
    const initialize = [WITH_EVERYTHING.replace('"subscribe":true', '"listChanged":true')];
    const odd = { ...ODD, initialize, 'resources/read': [text] };
    const connection = await connect('stdio', odd);
    const read = async (): Promise<object> => strangers.ask(connection, 'resources/read', { uri: URI });
    expect(await read()).toHaveProperty('result');
    const changed = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/list_changed' });
    const done = answer({ result: { content: [{ type: 'text', text: 'done' }] } });
    const none = answer({ result: { resources: [] } });
    strangers.answers('odd', { ...odd, 'resources/list': [none], 'tools/call': [changed, done] });
    await strangers.call(connection, 'odd__greet');
    await connection.until(({ method }) => method === 'notifications/resources/list_changed');
    expect(await read()).toMatchObject({ error: { message: `No server lists a resource ${URI}.` } });
  });

  it('is told on standard error what a server refuses to set again, and its calls go on', async () => {
    const connection = await connect('http', ODD);
    await strangers.ask(connection, 'resources/subscribe', { uri: URI });
    const refused = [answer({ error: { code: -32_002, message: 'No such resource.' } })];
    strangers.answers('odd', { ...ODD, epoch: 'second', 'resources/subscribe': refused });
    expect(await strangers.call(connection, 'odd__greet')).toBe('done');
    await connection.untilPrinted(
      `The MCP server odd: the subscription to ${URI} could not be set again: No such resource.`,
    );
  });

  it('has a call repeated once in a new session if the server refuses the old one with 400', async () => {
    const connection = await connect('http', ODD);
    expect(await strangers.call(connection, 'odd__greet')).toBe('done');
    strangers.answers('odd', { ...ODD, epoch: 'second', forgotten: 400 });
    expect(await strangers.call(connection, 'odd__greet')).toBe('done');
    strangers.answers('odd', { ...ODD, epoch: 'third', forgotten: 400 });
    expect(await strangers.names(connection, 'tools')).toEqual(['odd__greet', 'good__greet']);
  });

  it('has no call sent twice that is refused with 400 in a session that is still there', async () => {
    const connection = await connect('http', ODD);
    expect(await strangers.call(connection, 'odd__greet')).toBe('done');
    const before = strangers.requests().length;
    const http = { 'tools/call': { status: 400, body: 'The amount is not a number.' } };
    strangers.answers('odd', { ...ODD, http });
    expect(await strangers.call(connection, 'odd__greet')).toContain('odd__greet failed');
    expect(
      strangers
        .requests()
        .slice(before)
        .filter(([method]) => method === 'tools/call'),
    ).toHaveLength(1);
  });

  it('gets an error, and no loop, from a server that refuses every session with 400', async () => {
    const connection = await connect('http', ODD);
    expect(await strangers.call(connection, 'odd__greet')).toBe('done');
    const before = strangers.requests().length;
    const refusal = { status: 400, body: 'There is no such session.' };
    strangers.answers('odd', { ...ODD, http: { 'tools/call': refusal, ping: refusal } });
    expect(await strangers.call(connection, 'odd__greet')).toContain('odd__greet failed');
    expect(
      strangers
        .requests()
        .slice(before)
        .filter(([method]) => method === 'tools/call'),
    ).toHaveLength(2);
  });
});
