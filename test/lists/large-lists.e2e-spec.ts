import { once } from 'node:events';
import { type ClientRequest, get, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../../src/ledger/database/database';
import type { SqlRow, SqlValue } from '../../src/ledger/database/sql-connection';
import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy, propose } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';

/** Bytes of free-form content that a page may have. */
const PAGE = 1024 * 1024;
const CONTENT = { text: 'x'.repeat(250_000) };
/** More than fits on a page. */
const ROWS = 8;
const LISTS = [
  'entities?type=large',
  'entities/ENTITY/claims?order=asc',
  'decisions?order=asc',
  'executions?order=asc',
];

describe('A page of large records', () => {
  let app: TestApp;
  let entityId: string;
  /** The ids of each list's records, in its order. */
  const created = new Map<string, string[]>(LISTS.map((path) => [path, []]));

  beforeAll(async () => {
    app = await createTestApp();
    entityId = (await createEntity(app)).id;
    const { id: agentId } = await createAgent(app, { name: 'agent', capabilities: ['act'] });
    await createPolicy(app);
    const action = { action: 'act', resourceType: 'thing', resourceId: 'a', parameters: CONTENT };
    for (let row = 0; row < ROWS; row += 1) {
      const rows = [
        await createEntity(app, { type: 'large', properties: CONTENT }),
        await addClaim(app, entityId, { context: CONTENT }),
        await propose(app, agentId, { context: CONTENT }),
        (await send(app, 'POST', `/api/v1/agents/${agentId}/execute`, { body: action })).body,
      ];
      LISTS.forEach((path, index) => created.get(path)?.push(rows[index].id));
    }
  });
  afterAll(() => app.close());

  async function page(path: string): Promise<Parsed> {
    const { status, body } = await send(app, 'GET', `/api/v1/${path.replace('ENTITY', entityId)}`);
    expect(status).toBe(200);
    return body;
  }

  const idsOf = (rows: { id: string }[]): string[] => rows.map(({ id }) => id);

  describe.each(LISTS)('%s', (path) => {
    it('ends before its limit, with the cursor of the next one, and nothing is skipped', async () => {
      const ids: string[] = [];
      let next = `${path}&limit=1000`;
      while (next !== '') {
        const { data, total, nextCursor } = await page(next);
        expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(PAGE + 10_000);
        expect(total).toBe(ROWS);
        ids.push(...idsOf(data));
        next = nextCursor === undefined ? '' : `${path.split('?')[0]}?limit=1000&cursor=${nextCursor}`;
      }
      expect(ids).toEqual(created.get(path));
    });

    it('can also be continued by an offset: behind the rows received', async () => {
      const first = await page(`${path}&limit=${ROWS}&offset=1`);
      expect(first.data.length).toBeLessThan(ROWS - 1);
      expect(first.nextCursor).toEqual(expect.any(String));
      const ids = idsOf(first.data);
      const second = await page(`${path}&limit=${ROWS}&offset=${1 + ids.length}`);
      expect([...ids, ...idsOf(second.data)]).toEqual(created.get(path)?.slice(1));
    });
  });

  it('has everything that fits, complete, including rows above their share', async () => {
    const small = await createEntity(app, { type: 'large' });
    const { data, nextCursor } = await page('entities?order=desc&limit=5');
    expect(data[0]).toEqual(small);
    expect(data.map(({ properties }: Parsed) => properties)).toEqual([{}, CONTENT, CONTENT, CONTENT, CONTENT]);
    expect(nextCursor).toEqual(expect.any(String));
    expect((await page('entities?limit=1')).data[0].id).toBe(entityId);
  });

  it('does not make clients at other addresses wait for everything that one client requests', async () => {
    const addresses: string[] = [];
    const read = (path: string, localAddress: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const url = `${app.url}/api/v1/${path}`;
        get(url, { agent: false, localAddress, headers: { 'X-API-Key': API_KEY } }, (answer) => {
          expect(answer.statusCode).toBe(200);
          addresses.push(localAddress);
          answer.resume().once('end', resolve);
        }).once('error', reject);
      });
    const large = Array.from({ length: 40 }, () => read('decisions', '127.0.0.1'));
    await Promise.race(large);
    await Promise.all([...large, read('entities?limit=1', '127.0.0.2')]);
    expect(addresses.indexOf('127.0.0.2')).toBeLessThan(30);
  });
});

describe('A record that is larger than a page', () => {
  it('has a page of its own', async () => {
    const app = await createTestApp({ environment: { BODY_LIMIT: '20000000' } });
    const content = { text: 'x'.repeat(PAGE + 1) };
    for (const properties of [{}, content, content]) await createEntity(app, { properties });
    const lengths = [];
    for (let query = 'limit=50', more = true; more;) {
      const { body } = await send(app, 'GET', `/api/v1/entities?${query}`);
      lengths.push(body.data.map(({ properties }: Parsed) => String(properties.text ?? '').length));
      more = body.nextCursor !== undefined;
      query = `cursor=${body.nextCursor}`;
    }
    expect(lengths).toEqual([[0], [PAGE + 1], [PAGE + 1]]);
    await app.close();
  });
});

describe('Pages whose client leaves', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createEntity(app, { type: 'large' });
  });
  afterAll(() => app.close());

  it('keep their places until what was read for them is no longer in memory', async () => {
    const { lists } = app.application.get(Database);
    const all = lists.all.bind(lists);
    let reads = 0;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const held = async (sql: string, parameters?: readonly SqlValue[]): Promise<SqlRow[]> => {
      const rows = await all(sql, parameters);
      // The service reads other lists by itself, such as the webhooks.
      if (!sql.includes('"entities"')) return rows;
      reads += 1;
      await released;
      return rows;
    };
    jest.spyOn(lists, 'all').mockImplementation(held);
    try {
      const server: Server = app.application.getHttpServer();
      const closed: Promise<unknown>[] = [];
      server.on('connection', (socket: Socket) => closed.push(once(socket, 'close')));
      const url = `${app.url}/api/v1/entities?type=large`;
      const ask = (): ClientRequest =>
        get(url, { agent: false, headers: { 'X-API-Key': API_KEY } }).on('error', () => undefined);
      // Two places are one client's.
      const left = [ask(), ask()];
      while (reads < 2) await sleep(10);
      left.forEach((request) => request.destroy());
      await Promise.all(closed);
      const next = send(app, 'GET', '/api/v1/entities?type=large');
      // Others are answered meanwhile, so it would have begun.
      for (let count = 0; count < 20; count += 1) await send(app, 'GET', '/api/v1/health');
      const begun = reads;
      release();
      expect(begun).toBe(2);
      expect((await next).body.total).toBe(1);
    } finally {
      jest.restoreAllMocks();
    }
  });
});
