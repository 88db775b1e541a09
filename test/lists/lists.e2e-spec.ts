import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, propose } from '../support/application/factories';
import { faults, send, type Answer } from '../support/application/send';

/** A list with enough rows for several pages. */
const ROWS = 105;

describe('Lists', () => {
  let app: TestApp;
  let entityId: string;

  beforeAll(async () => {
    app = await createTestApp();
    entityId = (await createEntity(app, { type: 'place' })).id;
    const { id: proposedBy } = await createAgent(app, { name: 'proposer' });
    await times(ROWS - 1, (index) => createEntity(app, { type: index % 3 === 0 ? 'thing' : 'place' }));
    await times(ROWS, (index) => addClaim(app, entityId, { predicate: index % 3 === 0 ? 'p' : 'q' }));
    await times(ROWS, (index) => propose(app, proposedBy, { riskLevel: index % 3 === 0 ? 'high' : 'low' }));
  });
  afterAll(() => app.close());

  /** The path of a list, with the entity that the claims belong to filled in. */
  const at = (path: string): string => `/api/v1/${path.replace('ENTITY', entityId)}`;
  const get = (path: string): Promise<Answer> => send(app, 'GET', at(path));

  const LISTS = [
    { path: 'entities', size: 50, filter: 'type=place' },
    { path: 'entities/ENTITY/claims', size: 50, filter: 'predicate=q' },
    { path: 'decisions', size: 50, filter: 'riskLevel=low' },
    { path: 'audit', size: 100, filter: 'action=claim.added' },
    { path: 'provenance', size: 100, filter: 'action=claim.added' },
  ];

  describe.each(LISTS)('$path', ({ path, size, filter }) => {
    const continued = (cursor: string, more: string): string => `${path}?cursor=${cursor}&${more}`;

    it(`returns data and total, ${size} rows by default`, async () => {
      const { status, body } = await get(path);
      expect(status).toBe(200);
      expect(Object.keys(body)).toEqual(['data', 'total', 'nextCursor']);
      expect(body.data).toHaveLength(size);
      expect(body.total).toBe((await all(path)).length);
    });

    it('returns no other member if no rows follow', async () => {
      const { body } = await get(`${path}?limit=1000`);
      expect(Object.keys(body)).toEqual(['data', 'total']);
      expect(body.data).toHaveLength(body.total);
    });

    it(`begins with the ${path === 'audit' ? 'newest' : 'oldest'} by default`, async () => {
      const order = path === 'audit' ? 'desc' : 'asc';
      expect((await get(path)).body.data).toEqual((await get(`${path}?order=${order}`)).body.data);
      const oldestFirst = (await get(`${path}?order=asc&limit=1000`)).body.data;
      expect((await get(`${path}?order=desc&limit=1000`)).body.data).toEqual(oldestFirst.toReversed());
      expect(idsOf(oldestFirst)).toEqual(idsOf(oldestFirst).sort());
    });

    it('accepts a limit and an offset', async () => {
      const rows = await all(path);
      for (const [limit, offset] of [
        [1, 0],
        [7, 0],
        [7, 3],
        [1000, 100],
      ] as const) {
        const { body } = await get(`${path}?limit=${limit}&offset=${offset}`);
        expect(body.data).toEqual(rows.slice(offset, offset + limit));
        expect(body.total).toBe(rows.length);
      }
    });

    it.each([1_000_000, 2 ** 31 - 1])('is empty beyond its end, with its total: offset %i', async (offset) => {
      const { status, body } = await get(`${path}?offset=${offset}`);
      expect({ status, body }).toEqual({ status: 200, body: { data: [], total: (await all(path)).length } });
    });

    it('counts the rows that match its filter', async () => {
      const rows = await all(path, filter);
      const [name = '', value] = filter.split('=');
      expect(rows).toEqual((await all(path)).filter((row) => row[name] === value));
      expect((await get(`${path}?${filter}&limit=2`)).body).toMatchObject({
        data: rows.slice(0, 2),
        total: rows.length,
      });
    });

    it.each(['0', '1001', '-1', '1.5', '1e2', '0x10', '%205', '5%20', '%2B5', 'all', '١'])(
      'refuses the limit %s',
      async (limit) => {
        const answer = await get(`${path}?limit=${limit}`);
        expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
        expect(faults(answer)).toEqual({ 'query.limit': 'must be an integer from 1 to 1000, in digits only' });
      },
    );

    it.each(['2147483648', '-1', '1.0', '99999999999999999999'])('refuses the offset %s', async (offset) => {
      const message = 'must be an integer from 0 to 2147483647, in digits only';
      expect(faults(await get(`${path}?offset=${offset}`))).toEqual({ 'query.offset': message });
    });

    it.each(['up', 'ASC', 'asc,desc'])('refuses the order %s', async (order) => {
      expect(faults(await get(`${path}?order=${order}`))).toEqual({ 'query.order': 'must be one of asc, desc' });
    });

    it.each(['tpye=x', 'Limit=5', 'limit=5&limit=5', 'limit=', 'cursor=', `${filter.split('=')[0]}=`, 'order'])(
      'refuses a query that it would have to guess about: %s',
      async (query) => {
        const answer = await get(`${path}?${query}`);
        expect(answer.status).toBe(400);
        expect(Object.keys(faults(answer))).toEqual([`query.${query.split('=')[0]}`]);
      },
    );

    it('names every fault', async () => {
      const answer = await get(`${path}?limit=0&offset=x&order=up&none=1`);
      expect(Object.keys(faults(answer)).sort()).toEqual(['query.limit', 'query.none', 'query.offset', 'query.order']);
    });

    describe('by cursor', () => {
      it.each(['', 'order=asc', 'order=desc', filter, `${filter}&order=desc`, 'offset=10'])(
        'covers everything once: %s',
        async (query) => {
          const expected = await all(path, query);
          const { pages, rows } = await byCursor(path, query, 9);
          expect(idsOf(rows)).toEqual(idsOf(expected));
          expect(pages).toBe(Math.ceil(expected.length / 9));
        },
      );

      it('keeps the total of the first page, the order and the filters', async () => {
        const first = (await get(`${path}?${filter}&order=desc&limit=2`)).body;
        const next = (await get(`${path}?cursor=${first.nextCursor}`)).body;
        expect(next.total).toBe(first.total);
        expect(next.data).toEqual((await all(path, `${filter}&order=desc`)).slice(2, 2 + size));
      });

      it.each(['offset=0', 'order=asc', 'order=desc', filter])(
        'cannot be combined with anything but limit: %s',
        async (query) => {
          const { nextCursor } = (await get(`${path}?limit=2`)).body;
          expect((await get(continued(nextCursor, 'limit=3'))).body.data).toHaveLength(3);
          const answer = await get(continued(nextCursor, query));
          expect(answer.status).toBe(400);
          expect(Object.keys(faults(answer))).toEqual(['query.cursor']);
        },
      );

      it('refuses an altered one', async () => {
        const nextCursor: string = (await get(`${path}?limit=2`)).body.nextCursor;
        const first = nextCursor.startsWith('A') ? 'B' : 'A';
        const altered = [
          first + nextCursor.slice(1),
          nextCursor.slice(0, -2),
          `${nextCursor}AA`,
          `${nextCursor}=`,
          nextCursor.slice(0, 50) + nextCursor.slice(51),
          'x',
          '1',
        ];
        for (const cursor of altered) {
          const answer = await get(`${path}?cursor=${cursor}`);
          expect(answer.status).toBe(400);
          expect(Object.keys(faults(answer))).toEqual(['query.cursor']);
        }
      });

      it("refuses another list's", async () => {
        for (const other of LISTS.filter((list) => list.path !== path)) {
          const { nextCursor } = (await get(`${other.path}?limit=2`)).body;
          expect(Object.keys(faults(await get(`${path}?cursor=${nextCursor}`)))).toEqual(['query.cursor']);
        }
      });
    });
  });

  it("of claims refuse another entity's cursor", async () => {
    const other = await createEntity(app);
    await addClaim(app, other.id);
    await addClaim(app, other.id);
    const { nextCursor } = (await get(`entities/${other.id}/claims?limit=1`)).body;
    expect((await get(`entities/ENTITY/claims?cursor=${nextCursor}`)).status).toBe(400);
  });

  it.each(['order=asc', 'order=desc'])(
    'by cursor return every row that existed at the start exactly once during writes: %s',
    async (query) => {
      const before = idsOf(await all('entities', query));
      const seen: string[] = [];
      let next: string | undefined;
      do {
        const page = next === undefined ? `entities?${query}&limit=5` : `entities?cursor=${next}&limit=5`;
        const [{ body }] = await Promise.all([get(page), createEntity(app), createEntity(app)]);
        seen.push(...idsOf(body.data));
        next = body.nextCursor;
        // Rows that were added before the first page was read are on it, too, where the newest come first.
      } while (next !== undefined && before.some((id) => !seen.includes(id)));
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.filter((id) => before.includes(id))).toEqual(before);
    },
  );

  it('by cursor continue over rows that were deleted meanwhile', async () => {
    const doomed = [];
    for (let made = 0; made < 6; made += 1) doomed.push((await createEntity(app, { type: 'doomed' })).id);
    const first = (await get('entities?type=doomed&limit=2')).body;
    for (const id of [doomed[1], doomed[3]]) await send(app, 'DELETE', `/api/v1/entities/${id}`);
    const next = (await get(`entities?cursor=${first.nextCursor}`)).body;
    expect(idsOf(next.data)).toEqual([doomed[2], doomed[4], doomed[5]]);
  });

  /** Every row of a list, read without a cursor. */
  async function all(path: string, query = ''): Promise<Record<string, unknown>[]> {
    return (await get(`${path}?limit=1000&${query}`)).body.data;
  }

  async function byCursor(
    path: string,
    query: string,
    limit: number,
  ): Promise<{ pages: number; rows: { id: string }[] }> {
    const rows: { id: string }[] = [];
    let page = (await get(`${path}?limit=${limit}&${query}`)).body;
    let pages = 1;
    rows.push(...page.data);
    for (; page.nextCursor !== undefined; pages += 1) {
      page = (await get(`${path}?limit=${limit}&cursor=${page.nextCursor}`)).body;
      rows.push(...page.data);
    }
    return { pages, rows };
  }
});

function idsOf(rows: readonly { readonly id?: unknown }[]): string[] {
  return rows.map(({ id }) => String(id));
}

async function times(count: number, make: (index: number) => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_unused, index) => make(index)));
}
