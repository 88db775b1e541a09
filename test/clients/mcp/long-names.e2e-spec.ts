import { describeOnSqlite } from '../../support/database/database-kind';
import type { RawConnection } from './raw-connection';
import { answer, Strangers, WITH_EVERYTHING } from './strangers';

const LONG = 'n'.repeat(2_001);
const MANY = ','.repeat(1_000_000);
const PLAIN_TEMPLATE = { uriTemplate: 'note://t/{a}', name: 'plain' };
const SCHEMA = { inputSchema: { type: 'object' } };

function list(name: string, items: readonly object[], nextCursor?: string): string[] {
  return [answer({ result: { [name]: items, nextCursor } })];
}

describeOnSqlite.each(['stdio', 'http'] as const)('A server of gov mcp with long names, over %s', (way) => {
  let strangers: Strangers;
  let connection: RawConnection;

  beforeAll(async () => (strangers = await Strangers.open()));
  afterEach(() => connection.close());
  afterAll(() => strangers.close());

  it.each([
    ['a million names in an expression', `x://h{?${MANY}}`, 'its uriTemplate has more than 2000 characters'],
    ['21 names in an expression', `x://h{?${','.repeat(20)}}`, 'it is no URI template, or has too many names'],
    ['21 names in two', `x://h{?${','.repeat(9)}}{&${','.repeat(10)}}`, 'it is no URI template, or has too many names'],
    ['11 expressions', `x://h${'{a}'.repeat(11)}`, 'it is no URI template, or has too many names'],
    ['a long text', `x://h/${LONG}`, 'its uriTemplate has more than 2000 characters'],
    ['a brace too many', 'x://h/{a', 'it is no URI template, or has too many names'],
  ])('takes no other template with one that has %s', async (_, uriTemplate, fault) => {
    connection = await strangers.connect(way, {
      initialize: [WITH_EVERYTHING],
      'resources/list': list('resources', []),
      'resources/templates/list': list('resourceTemplates', [{ uriTemplate, name: 'odd' }, PLAIN_TEMPLATE]),
      'resources/read': [answer({ result: { contents: [{ uri: 'note://t/1', text: 'read' }] } })],
    });
    const { result } = await strangers.ask(connection, 'resources/templates/list');
    expect(result.resourceTemplates).toEqual([PLAIN_TEMPLATE]);
    const read = await strangers.ask(connection, 'resources/read', { uri: 'note://t/1' });
    expect(read).toMatchObject({ result: { contents: [{ text: 'read' }] } });
    await connection.untilPrinted(`is left out of resourceTemplates: ${fault}.`);
    expect(connection.errors.length).toBeLessThan(1_000);
  });

  it('loses only those that are too long, of all lists', async () => {
    connection = await strangers.connect(way, {
      initialize: [WITH_EVERYTHING],
      'tools/list': list(
        'tools',
        [LONG, MANY, 'greet'].map((name) => ({ name, ...SCHEMA })),
      ),
      'prompts/list': list(
        'prompts',
        [LONG, MANY, 'hello'].map((name) => ({ name })),
      ),
      'resources/list': list(
        'resources',
        [LONG, MANY, 'a'].map((name) => ({ uri: `note://h/${name}`, name: 'note' })),
      ),
    });
    expect(await strangers.names(connection, 'tools')).toEqual(['odd__greet', 'good__greet']);
    expect(await strangers.names(connection, 'prompts')).toEqual(['odd__hello']);
    expect(await strangers.names(connection, 'resources')).toEqual(['note']);
  });

  it('ends a list with a cursor that is too long', async () => {
    connection = await strangers.connect(way, {
      'tools/list': list('tools', [{ name: 'greet', ...SCHEMA }], `${MANY}%N%`),
    });
    expect(await strangers.names(connection, 'tools')).toEqual(['odd__greet', 'good__greet']);
    // It is listed at the start, too.
    expect(strangers.requests().filter(([method]) => method === 'tools/list').length).toBeLessThanOrEqual(2);
  });
});
