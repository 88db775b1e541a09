import { EntryReader } from '../../src/ledger/reading/entry-reader';
import { RecordReader } from '../../src/ledger/reading/record-reader';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { ActionsModule } from '../support/application/actions.module';
import { ORIGIN } from '../support/application/authenticator';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, issueKey } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { signer } from '../support/application/signers';
import { onPostgres } from '../support/database/database-kind';
import { foreignConnection } from '../support/database/foreign-connection';
import { doEverything, EVERY_ACTION_ENVIRONMENT } from '../support/requests/every-action';

/** Every character up to U+00FF but NUL, those that some encoders escape, and one of four bytes. */
const TEXT = `${Array.from({ length: 0xff }, (_, index) => String.fromCodePoint(index + 1)).join('')}\u2028\ufeff\uffff😀`;
const SCALARS = [0, -1, 0.1, -0.5e-7, 1e21, 5e-324, true, false, '', TEXT];
const CONTENT = { [TEXT]: TEXT, '': { '"': [TEXT] }, values: [...SCALARS, null, [], {}, [[], {}, [null]]] };

/** The lists whose records the database writes, without and with filters. */
const LISTS = [
  ...['entities', 'entities?order=desc&offset=1', 'entities?type=large', 'entities?type=none'],
  ...['entities/ENTITY/claims', 'agents', 'agents?capability=look&status=active', 'agents/PERSON/passkeys'],
  ...['agents/PERSON/delegations', 'api-keys', 'api-keys?status=revoked', 'webhooks', 'erasures', 'audit'],
  ...['audit?outcome=denied&order=asc', 'provenance', 'provenance?action=entity.created'],
];

/** SQL that somebody may have written into a column in place of its value. */
const ALTERATIONS: readonly [table: string, column: string, value: string][] = [
  ...['{"a":1', '{a:1}', '{"a":1}]', '{"a":\u0001}', '{"a":01}', '', ' {"a":\n1} ', '{"a":1,"a":2}', '1e1', 'null'].map(
    (text): [string, string, string] => ['entities', 'properties', `'${text}'`],
  ),
  ...[`'["look",1]'`, `'{}'`, `'null'`].map((value): [string, string, string] => ['agents', 'capabilities', value]),
  ['agents', 'status', `'Suspended'`],
  ['ledger_entries', 'details', `'{"a":1,}'`],
  ['ledger_entries', 'reason', `'"'`],
  ...(onPostgres ? [] : otherTypes()),
];

/** SQLite keeps values of any type in a column. */
function otherTypes(): [table: string, column: string, value: string][] {
  const bytes = ["x'00ff'", "x'41'", "jsonb('1')", "CAST(x'41ff' AS TEXT)"];
  return [
    ...bytes.flatMap((value): [string, string, string][] => [
      ['entities', 'name', value],
      ['entities', 'properties', value],
      ['agents', 'status', value],
      ['ledger_entries', 'action', value],
    ]),
    ...["'high'", '1.5', '9e999', "x'31'"].map((value): [string, string, string] => ['entities', 'revision', value]),
  ];
}

describe('A list whose records the database writes', () => {
  let app: TestApp;
  let foreign: SqlConnection;
  let ids: Readonly<Record<'ENTITY' | 'PERSON', string>>;

  beforeAll(async () => {
    const environment = { ...EVERY_ACTION_ENVIRONMENT, PUBLIC_URL: ORIGIN, RETAIN_AT_LEAST: 'PT0S' };
    app = await createTestApp({ modules: [ActionsModule], environment });
    foreign = await foreignConnection(app);
    await doEverything(app);
    const { id: ENTITY } = await createEntity(app, { name: TEXT.slice(0, 200), properties: CONTENT });
    for (const value of SCALARS) await addClaim(app, ENTITY, { value, context: CONTENT });
    for (let made = 0; made < 4; made += 1)
      await createEntity(app, { type: 'large', properties: { text: 'ä'.repeat(200_000) } });
    await createAgent(app, { name: 'odd', description: TEXT, capabilities: ['look', "it's"], roles: ['ä', '😀'] });
    const { agent, key } = await signer(app, 'ann', []);
    const { agent: other } = await signer(app, 'ben', []);
    const body = { to: other.id, until: new Date(Date.now() + 86_400_000).toISOString() };
    expect((await send(app, 'POST', `/api/v1/agents/${agent.id}/delegations`, { key, body })).status).toBe(201);
    const { secret, id: keyId } = await issueKey(app, { name: 'ä "x" \\' });
    expect((await send(app, 'POST', '/api/v1/entities', { key: secret, body: {} })).status).toBe(403);
    expect((await send(app, 'POST', `/api/v1/api-keys/${keyId}/revoke`)).status).toBe(200);
    const { id } = await createEntity(app);
    const erasure = { subjects: [{ type: 'entity', id }], reason: TEXT.trim() };
    expect((await send(app, 'POST', '/api/v1/erasures', { body: erasure })).status).toBe(201);
    ids = { ENTITY, PERSON: agent.id };
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  const list = (path: string): Promise<Answer> =>
    send(app, 'GET', `/api/v1/${path.replace('ENTITY', ids.ENTITY).replace('PERSON', ids.PERSON)}`);
  /** The list with records that the service itself makes of rows. */
  const listOfRows = async (path: string): Promise<Answer> => {
    const written = jest.spyOn(app.application.get(RecordReader), 'writtenPageOf').mockResolvedValue(null);
    const answer = await list(path);
    expect(written).toHaveBeenCalledTimes(1);
    written.mockRestore();
    return answer;
  };

  it.each(LISTS)('is, byte for byte, as the service makes it: %s', async (path) => {
    for (const limit of [1000, 1, 2]) {
      const page = `${path}${path.includes('?') ? '&' : '?'}limit=${limit}`;
      const rows = [RecordReader, EntryReader].map((reader) => jest.spyOn(app.application.get(reader), 'page'));
      const { status, text, headers } = await list(page);
      expect(rows.map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
      jest.restoreAllMocks();
      const expected = await listOfRows(page);
      expect([status, text]).toEqual([200, expected.text]);
      for (const name of ['content-length', 'content-type']) expect(headers.get(name)).toBe(expected.headers.get(name));
    }
  });

  it('has the members of free-form content in the order in which they are stored', async () => {
    const { id } = await createEntity(app, { type: 'numbered', properties: { 9: 'nine', 10: 'ten', a: 0 } });
    const { text, body } = await list('entities?type=numbered');
    expect(text).toContain('"properties":{"10":"ten","9":"nine","a":0}');
    expect(body.data).toEqual([(await send(app, 'GET', `/api/v1/entities/${id}`)).body]);
  });

  it.each(ALTERATIONS)(
    'is refused or answered as from rows if one was altered: %s, %s, %s',
    async (table, column, value) => {
      const path = table === 'ledger_entries' ? 'audit?limit=1' : `${table}?order=desc&limit=1`;
      const id = table === 'ledger_entries' ? 'sequence' : 'id';
      const [row] = await foreign.all(
        `SELECT * FROM "${table}" ORDER BY "${table === 'ledger_entries' ? id : 'createdSequence'}" DESC LIMIT 1`,
      );
      const change = (to: string, parameters: readonly (string | number | null)[]): Promise<void> =>
        foreign.run(`UPDATE "${table}" SET "${column}" = ${to} WHERE "${id}" = $1`, [row?.[id] ?? null, ...parameters]);
      await change(value, []);
      const [written, expected] = [await list(path), await listOfRows(path)];
      await change('$2', [row?.[column] ?? null]);
      expect(written.status).toBe(expected.status);
      if (written.status === 200) expect(written.body).toEqual(expected.body);
      else expect(written.body.error.code).toBe('INTERNAL_ERROR');
    },
  );
});
