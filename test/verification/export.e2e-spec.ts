import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { shutDown } from '../../src/http/server/shutdown';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { ActionsModule } from '../support/application/actions.module';
import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { doEverything, EVERY_ACTION_ENVIRONMENT } from '../support/requests/every-action';
import { createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { faults, send, sendRaw } from '../support/application/send';
import { run } from '../support/processes/shell';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

/** Exit codes of curl. */
const CONNECTION_RESET = 56;
const EXPORT = '/api/v1/provenance/export';

describe('The export', () => {
  let app: TestApp;
  let foreign: SqlConnection;
  let length: number;

  beforeAll(async () => {
    app = await createTestApp({ modules: [ActionsModule], environment: EVERY_ACTION_ENVIRONMENT });
    await doEverything(app);
    // More than one chunk.
    for (let made = 0; made < 280; made += 40) {
      await Promise.all(
        Array.from({ length: 40 }, () => createEntity(app, { properties: { text: 'é"\u2028\n😀', number: 1e21 } })),
      );
    }
    length = (await send(app, 'GET', '/api/v1/provenance?limit=1')).body.total;
    foreign = await foreignConnection(app);
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  async function lines(query = ''): Promise<{ sequence: number }[]> {
    const { status, text, headers } = await send(app, 'GET', `${EXPORT}${query}`);
    expect(status).toBe(200);
    const [end = '', ...entries] = text.trimEnd().split('\n').reverse();
    const [sequence, hash] = [Number(headers.get('x-head-sequence')), headers.get('x-head-hash')];
    expect(text).toMatch(/\n$/);
    expect(JSON.parse(end)).toEqual({ end: { sequence, hash } });
    return entries.reverse().map((line) => JSON.parse(line) as { sequence: number });
  }

  /**
   * Over HTTP/1.0 an answer of unknown length ends with its connection, so that only a reset shows that it is
   * incomplete.
   */
  async function expectBroken(): Promise<void> {
    await expect(send(app, 'GET', EXPORT)).rejects.toThrow();
    for (const version of ['--http1.0', '--http1.1']) expect(await curl(app, version)).toBe(CONNECTION_RESET);
  }

  it('has a line for each entry, exactly as a GET returns it, and says where the chain ends', async () => {
    const { headers } = await send(app, 'GET', EXPORT);
    const exported = await lines();
    expect(exported).toHaveLength(length);
    for (const [index, line] of exported.entries()) {
      // The loop tries one entry of each action, and a sample of the others.
      if (index > 60 && index % 40 !== 0) continue;
      expect(line).toEqual((await send(app, 'GET', `/api/v1/provenance/${index + 1}`)).body);
    }
    expect(headers.get('content-type')).toBe('application/x-ndjson');
    expect(headers.get('x-head-sequence')).toBe(String(length));
    const { head } = (await send(app, 'POST', '/api/v1/provenance/verify')).body;
    expect(headers.get('x-head-hash')).toBe(head.hash);
  });

  it('can continue after a sequence', async () => {
    const whole = await lines();
    expect(await lines('?after=0')).toEqual(whole);
    expect(await lines('?after=270')).toEqual(whole.slice(270));
    expect(await lines(`?after=${length}`)).toEqual([]);
    expect(await lines('?after=9007199254740991')).toEqual([]);
  });

  it('takes no other parameters', async () => {
    expect(faults(await send(app, 'GET', `${EXPORT}?after=x&limit=1`))).toEqual({
      'query.after': expect.any(String),
      'query.limit': expect.any(String),
    });
  });

  it('ends each part that is made with after with the end of the chain', async () => {
    const hash = (await send(app, 'HEAD', EXPORT)).headers.get('x-head-hash');
    for (const after of [length - 1, length, 2 ** 53 - 1]) {
      const { text } = await send(app, 'GET', `${EXPORT}?after=${after}`);
      const [end, ...others] = text.trimEnd().split('\n').reverse();
      expect(end).toBe(`{"end":{"sequence":${length},"hash":"${hash}"}}`);
      expect(others).toHaveLength(after === length - 1 ? 1 : 0);
    }
  });

  it('is complete over HTTP/1.0, too', async () => {
    const answer = await sendRaw(app, `GET ${EXPORT} HTTP/1.0\r\nX-API-Key: ${API_KEY}\r\nHost: x\r\n\r\n`);
    expect(answer.trimEnd().split('\r\n\r\n')[1]).toBe((await send(app, 'GET', EXPORT)).text.trimEnd());
  });

  it('has only its end for a ledger without entries', async () => {
    const empty = await createTestApp();
    const { status, text, headers } = await send(empty, 'GET', EXPORT);
    await empty.close();
    const end = `{"end":{"sequence":0,"hash":"${'0'.repeat(64)}"}}\n`;
    expect([status, text, headers.get('x-head-sequence')]).toEqual([200, end, '0']);
  });

  it('answers HEAD with its headers only', async () => {
    const { status, text, headers } = await send(app, 'HEAD', EXPORT);
    expect([status, text, headers.get('x-head-sequence')]).toEqual([200, '', String(length)]);
  });

  it('resets the connection at a state that is not JSON, or refuses if that is in the first chunk', async () => {
    const [row] = await foreign.all<{ state: string }>('SELECT "state" FROM ledger_entries WHERE "sequence" = 120');
    await foreign.run(`UPDATE ledger_entries SET "state" = '{' WHERE "sequence" = 120`);
    await expectBroken();
    expect((await send(app, 'GET', `${EXPORT}?after=119`)).body.error.code).toBe('INTERNAL_ERROR');
    expect(await lines('?after=120')).toHaveLength(length - 120);
    await foreign.run(`UPDATE ledger_entries SET "state" = $1 WHERE "sequence" = 120`, [row?.state ?? null]);
    expect(await lines()).toHaveLength(length);
  });

  it('resets the connection if the chain ends before its head', async () => {
    await foreign.run('CREATE TEMP TABLE the_last AS SELECT * FROM ledger_entries WHERE "sequence" > 300');
    await foreign.run('DELETE FROM ledger_entries WHERE "sequence" > 300');
    await expectBroken();
    await foreign.run('INSERT INTO ledger_entries SELECT * FROM the_last');
    expect(await lines()).toHaveLength(length);
  });

  // In the first chunk, which is refused before anything is sent, and in the second, up to the last entry but one.
  it.each([1, 2, 120, 250, 251, 300, -1])('resets the connection if the entry %i is missing', async (place) => {
    const sequence = place > 0 ? place : length + place;
    await foreign.run(`CREATE TEMP TABLE the_missing AS SELECT * FROM ledger_entries WHERE "sequence" = ${sequence}`);
    await foreign.run(`DELETE FROM ledger_entries WHERE "sequence" = ${sequence}`);
    try {
      if (sequence > 250) await expectBroken();
      else expect((await send(app, 'GET', EXPORT)).body?.error.code).toBe('INTERNAL_ERROR');
      const next = await send(app, 'GET', `${EXPORT}?after=${sequence - 1}`);
      expect([next.status, next.body?.error.code]).toEqual([500, 'INTERNAL_ERROR']);
      expect(await lines(`?after=${sequence}`)).toHaveLength(length - sequence);
    } finally {
      await foreign.run('INSERT INTO ledger_entries SELECT * FROM the_missing');
      await foreign.run('DROP TABLE the_missing');
    }
    expect(await lines()).toHaveLength(length);
  });

  describe.each([2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, 0n, -1n, -(2n ** 53n), -(2n ** 63n)])(
    'with an entry put in at sequence %s',
    (sequence) => {
      beforeAll(async () => {
        await foreign.run('CREATE TEMP TABLE put_in AS SELECT * FROM ledger_entries WHERE "sequence" = 100');
        await foreign.run(`UPDATE put_in SET "sequence" = ${sequence}`);
        await foreign.run('INSERT INTO ledger_entries SELECT * FROM put_in');
      });
      afterAll(async () => {
        await foreign.run(`DELETE FROM ledger_entries WHERE "sequence" = ${sequence}`);
        await foreign.run('DROP TABLE put_in');
        expect(await lines()).toHaveLength(length);
      });

      it('resets the connection, as that entry cannot be sent', async () => {
        await expectBroken();
      });

      it('reports it if the export starts after that place', async () => {
        const { status, body } = await send(app, 'GET', `${EXPORT}?after=${length}`);
        expect([status, body?.error?.code]).toEqual(sequence > 0n ? [500, 'INTERNAL_ERROR'] : [200, undefined]);
      });

      it('is found by verification', async () => {
        const { body } = await send(app, 'POST', '/api/v1/provenance/verify');
        expect(body).toMatchObject({ valid: false, firstInvalid: expect.any(Number) });
        expect(body.brokenLinks).toBeGreaterThan(0);
      });
    },
  );

  it('does not go beyond the head found at its start', async () => {
    const response = await openExport(app);
    const sequence = Number(response.headers['x-head-sequence']);
    await createEntity(app);
    const text = (await response.setEncoding('utf8').toArray()).join('');
    expect(text.split('\n')).toHaveLength(sequence + 2);
    expect((await send(app, 'HEAD', EXPORT)).headers.get('x-head-sequence')).toBe(String(sequence + 1));
  });
});

describe('An export of long entries to a client that does not read', () => {
  let app: TestApp;
  let database: TemporaryDatabase;

  beforeAll(async () => {
    database = await temporaryDatabase();
    app = await createTestApp({ environment: database.environment });
    const properties = { text: 'x'.repeat(1_000_000) };
    for (let made = 0; made < 20; made += 1) await createEntity(app, { properties });
  });
  afterAll(() => database.remove());

  it('waits for the client, and ends when it leaves', async () => {
    const response = await openExport(app);
    response.destroy();
    const { body } = await send(app, 'POST', '/api/v1/provenance/verify');
    expect(body).toMatchObject({ valid: true, entriesVerified: 20 });
  });

  it('takes one of a limited number of places until its client leaves', async () => {
    const held = [await openExport(app), await openExport(app)];
    const refused = await send(app, 'GET', EXPORT);
    expect([refused.status, refused.body.error.code]).toEqual([503, 'UNAVAILABLE']);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect((await send(app, 'HEAD', EXPORT)).status).toBe(503);
    for (const client of held) {
      client.destroy();
      // More often than there are places in total.
      for (let times = 0; times < 4; times += 1) await untilExported();
    }
  });

  it('finds a place for another client if one client has used its share, but not if all places are taken', async () => {
    const held = [await openExport(app), await openExport(app)];
    held.push(await openExport(app, '127.0.0.2'));
    expect(held.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
    for (const address of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) expect(await statusFrom(address)).toBe(503);
    held.forEach((client) => client.destroy());
    for (const address of ['127.0.0.1', '127.0.0.2', '127.0.0.3'])
      while ((await statusFrom(address, 'HEAD')) === 503) await sleep(10);
  });

  async function statusFrom(localAddress: string, method = 'GET'): Promise<number | undefined> {
    const { statusCode } = await openExport(app, localAddress, method).then((response) => response.resume());
    return statusCode;
  }

  /** Waits until an export can start: the service notices a moment later that a client has left. */
  async function untilExported(): Promise<void> {
    while ((await send(app, 'HEAD', EXPORT)).status === 503) await sleep(10);
    expect((await send(app, 'GET', `${EXPORT}?after=19`)).text.split('\n')).toHaveLength(3);
  }

  it('ends when the service stops', async () => {
    const response = await openExport(app);
    const broken = once(response, 'error');
    const client = spawn('curl', curlWords(app, '--http1.0'));
    await once(client.stdout, 'readable');
    await shutDown(app.application);
    response.resume();
    client.stdout.resume();
    const [[exitCode]] = await Promise.all([once(client, 'close'), broken]);
    expect(response.complete).toBe(false);
    expect(exitCode).toBe(CONNECTION_RESET);
  });
});

function curlWords({ url }: TestApp, version: string): string[] {
  return ['-sS', version, '-H', `X-API-Key: ${API_KEY}`, `${url}${EXPORT}`];
}

/** Node's own client may mistake a reset for an end if data arrives with it. */
async function curl(app: TestApp, version: string): Promise<number | null> {
  return (await run('curl', curlWords(app, version))).exitCode;
}

async function openExport({ url }: TestApp, localAddress = '127.0.0.1', method = 'GET'): Promise<IncomingMessage> {
  const headers = { 'X-API-Key': API_KEY };
  const request = get(`${url}${EXPORT}`, { agent: false, headers, localAddress, method });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}
