import { Database } from '../../src/ledger/database/database';
import type { SqlConnection, SqlRow, SqlValue } from '../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy, propose } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { type Parsed, send } from '../support/application/send';

/** Long, and with everything that JSON has to escape. */
const CONTENT = {
  a: Array.from({ length: 300 }, (_, index) => ({ [`key ${index}`]: [index, -0.5e-7, null, true, '', {}] })),
  text: '"é\n\\\u2028\u0001 😀</script>'.repeat(200),
};
const LONG_TEXT = 'x'.repeat(5_000);

/** A place for long content: how to create a record with it, the path of the record, and its table and column. */
interface ContentPlace {
  readonly name: string;
  readonly make: (app: TestApp) => Promise<string>;
  readonly member: string;
  readonly table: string;
}

const PLACES: readonly ContentPlace[] = [
  {
    name: 'the properties of an entity',
    make: async (app) => `entities/${(await createEntity(app, { properties: CONTENT })).id}`,
    member: 'properties',
    table: 'entities',
  },
  {
    name: 'the context of a claim',
    make: async (app) => {
      const { id } = await createEntity(app);
      return `entities/${id}/claims/${(await addClaim(app, id, { context: CONTENT })).id}`;
    },
    member: 'context',
    table: 'claims',
  },
  {
    name: 'the value of a claim',
    make: async (app) => {
      const { id } = await createEntity(app);
      return `entities/${id}/claims/${(await addClaim(app, id, { value: LONG_TEXT })).id}`;
    },
    member: 'value',
    table: 'claims',
  },
  {
    name: 'the context of a decision',
    make: async (app) => {
      const { id } = await createAgent(app, { name: 'proposer' });
      return `decisions/${(await propose(app, id, { context: CONTENT })).id}`;
    },
    member: 'context',
    table: 'decisions',
  },
  {
    name: 'the parameters of an execution',
    make: async (app) => {
      const { id } = await createAgent(app, { name: 'agent', capabilities: ['act'] });
      const body = { action: 'act', resourceType: 'thing', resourceId: 'a', parameters: CONTENT };
      return `executions/${(await send(app, 'POST', `/api/v1/agents/${id}/execute`, { body })).body.id}`;
    },
    member: 'parameters',
    table: 'executions',
  },
];

describe.each(PLACES)('$name', ({ make, member, table }) => {
  let app: TestApp;
  let foreign: SqlConnection;
  let path: string;
  let id: string;

  beforeAll(async () => {
    app = await createTestApp();
    foreign = await foreignConnection(app);
    await createPolicy(app);
    path = `/api/v1/${await make(app)}`;
    id = path.slice(path.lastIndexOf('/') + 1);
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  const list = (): string => path.slice(0, path.lastIndexOf('/'));

  it('is returned unchanged, for a single record and in a list', async () => {
    const { text, body, headers } = await send(app, 'GET', path);
    expect(body[member]).toEqual(member === 'value' ? LONG_TEXT : CONTENT);
    expect(headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(text).toBe(JSON.stringify(body));
    const page = await send(app, 'GET', list());
    // The comment of a reviewer is no part of the record.
    const { rejection: _, ...record } = body;
    expect(page.body).toEqual({ data: [record], total: 1 });
    expect(page.text).toBe(`{"data":[${text.replace(',"rejection":null', '')}],"total":1}`);
    expect(page.headers.get('content-length')).toBe(String(Buffer.byteLength(page.text)));
  });

  it('has the same headers in an answer to HEAD, and no body', async () => {
    for (const route of [path, list()]) {
      const { text } = await send(app, 'GET', route);
      const head = await send(app, 'HEAD', route);
      expect([head.status, head.text]).toEqual([200, '']);
      expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    }
  });

  it.each(['', ',"admin":true', '}', ']', '\u0001', '{"a":01}'])(
    'is not returned if it was altered and is no longer JSON: %j at its end',
    async (end) => {
      const stored = await storedText();
      await put(end === '' ? stored.slice(0, -1) : stored + end);
      for (const route of [path, list()]) {
        const { status, body } = await send(app, 'GET', route);
        expect([status, body.error.code]).toEqual([500, 'INTERNAL_ERROR']);
      }
      await put(stored);
      expect((await send(app, 'GET', path)).status).toBe(200);
    },
  );

  async function storedText(): Promise<string> {
    const [row] = await foreign.all<Parsed>(`SELECT "${member}" AS "text" FROM ${table} WHERE "id" = $1`, [id]);
    return String(row.text);
  }

  function put(text: string): Promise<void> {
    return foreign.run(`UPDATE ${table} SET "${member}" = $1 WHERE "id" = $2`, [text, id]);
  }
});

describe('The details and the state of an entry', () => {
  let app: TestApp;
  let foreign: SqlConnection;

  beforeAll(async () => {
    app = await createTestApp();
    foreign = await foreignConnection(app);
    await createEntity(app, { properties: CONTENT });
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  it('are returned unchanged, for a single entry, in a list and in the export', async () => {
    const { text, body } = await send(app, 'GET', '/api/v1/provenance/1');
    expect(body.state.properties).toEqual(CONTENT);
    expect(text).toBe(JSON.stringify(body));
    expect((await send(app, 'GET', '/api/v1/provenance/export')).text.split('\n')[0]).toBe(text);
    const audit = await send(app, 'GET', '/api/v1/audit');
    expect(audit.body.data).toEqual([body.audit]);
    expect(audit.text).toBe(JSON.stringify(audit.body));
  });

  it.each(['details', 'state'])('are not returned if they were altered and are no longer JSON: %s', async (column) => {
    const [row] = await foreign.all<Parsed>(`SELECT "${column}" AS "text" FROM ledger_entries WHERE "sequence" = 1`);
    const put = (text: string): Promise<void> =>
      foreign.run(`UPDATE ledger_entries SET "${column}" = $1 WHERE "sequence" = 1`, [text]);
    await put(`{"a":"${'x'.repeat(2_000)}","b":1,}`);
    for (const path of ['provenance/1', 'provenance/export', ...(column === 'details' ? ['audit'] : [])]) {
      const { status, body } = await send(app, 'GET', `/api/v1/${path}`);
      expect([path, status, body.error.code]).toEqual([path, 500, 'INTERNAL_ERROR']);
    }
    await put(String(row.text));
    expect((await send(app, 'GET', '/api/v1/provenance/1')).status).toBe(200);
  });
});

describe('Records that are read at the same time', () => {
  /** Characters. */
  const LARGE = 100_000;
  let app: TestApp;
  beforeAll(async () => (app = await createTestApp()));
  afterAll(() => app.close());

  it('are each answered as by themselves: small, large and missing ones', async () => {
    const small = await createEntity(app, { name: 'small' });
    const large = await createEntity(app, { name: 'large', properties: { text: 'x'.repeat(900_000) } });
    const ids = Array.from({ length: 20 }, () => [small.id, large.id, 'ent_missing']).flat();
    const answers = await Promise.all(ids.map((id) => send(app, 'GET', `/api/v1/entities/${id}`)));
    answers.forEach(({ status, body }, index) => {
      if (ids[index] === 'ent_missing') expect(status).toBe(404);
      else expect(body).toEqual(ids[index] === small.id ? small : large);
    });
  });

  it.each<[what: string, path: (id: string, sequence: number) => string]>([
    ['records', (id) => `entities/${id}`],
    ['records of the past', (id, sequence) => `entities/${id}?asOf=${sequence}`],
    ['entries of the chain', (_id, sequence) => `provenance/${sequence}`],
  ])('are read from the database one at a time if they are large: %s', async (_what, path) => {
    const paths: string[] = [];
    for (let made = 0; made < 12; made += 1) {
      const { id } = await createEntity(app, { properties: { text: 'x'.repeat(LARGE) } });
      paths.push(path(id, (await send(app, 'GET', '/api/v1/stats')).body.provenanceEntries));
    }
    const mostAtOnce = watchLargeReads();
    const answers = await Promise.all(paths.map((each) => send(app, 'GET', `/api/v1/${each}`)));
    jest.restoreAllMocks();
    for (const { status, text } of answers) expect([status, text.length > LARGE]).toEqual([200, true]);
    expect(mostAtOnce()).toBe(1);
  });

  /** Returns how many statements that read a large row were under way, or waiting, at the same time at most. */
  function watchLargeReads(): () => number {
    const { points } = app.application.get(Database);
    const all = points.all.bind(points);
    const spans: { begun: number; ended: number }[] = [];
    const watched = async (sql: string, parameters?: readonly SqlValue[]): Promise<SqlRow[]> => {
      const begun = performance.now();
      const rows = await all(sql, parameters);
      const isLarge = rows.some((row) => Object.values(row).some((value) => String(value).length > LARGE));
      if (isLarge) spans.push({ begun, ended: performance.now() });
      return rows;
    };
    jest.spyOn(points, 'all').mockImplementation(watched);
    return () => Math.max(...spans.map(({ begun }) => spans.filter((s) => s.begun <= begun && begun < s.ended).length));
  }
});
