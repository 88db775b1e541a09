import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { ROOT } from '../support/documents/markdown';
import { send } from '../support/application/send';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { post } from '../support/application/wire';

const MAIN = join(ROOT, 'dist', 'main.js');
const VERIFY = '/api/v1/provenance/verify';
/** More than one chunk. */
const LENGTH = 1_200;
const ALTERED = 700;

/** The built program checks hashes in a thread; uncompiled sources, as in most tests, do not. */
describe('Verification by the built program', () => {
  let database: TemporaryDatabase;

  beforeAll(async () => {
    database = await temporaryDatabase();
    const app = await createTestApp({ environment: database.environment });
    // A thousand connections at once would be a test of the machine rather than of the service.
    for (let made = 0; made < LENGTH; made += 50) {
      await Promise.all(Array.from({ length: Math.min(50, LENGTH - made) }, () => createEntity(app)));
    }
    await app.close();
  });
  afterAll(() => database.remove());

  async function withProgram(work: (program: StartedProgram) => Promise<void>): Promise<void> {
    const program = await startProgram(MAIN, { ...database.environment, RATE_LIMIT: '1000000' });
    try {
      await work(program);
    } finally {
      expect(await program.stop()).toBe(0);
    }
  }

  it('finds nothing in a sound chain, from the start or from a sequence on, however many request it at once', () =>
    withProgram(async (program) => {
      const begins = [1, 600, 1, LENGTH, LENGTH + 1];
      const answers = await Promise.all(begins.map((from) => program.send('POST', VERIFY, { body: { from } })));
      expect(answers.map(({ body }) => [body.valid, body.entriesVerified])).toEqual(
        begins.map((from) => [true, LENGTH - from + 1]),
      );
    }));

  it('answers 503 if a stop cuts it short, or completes', async () => {
    const program = await startProgram(MAIN, { ...database.environment, RATE_LIMIT: '1000000' });
    const verifications = Array.from({ length: 20 }, async (_, index) => {
      const { status } = await program.send('POST', VERIFY, { body: { from: index + 1 } });
      return status;
    });
    await Promise.race(verifications);
    expect(await program.stop()).toBe(0);
    for (const status of await Promise.all(verifications)) expect([200, 503]).toContain(status);
  });

  it('finds the same as without a thread', async () => {
    const app = await createTestApp({ environment: database.environment });
    const foreign = await foreignConnection(app);
    await foreign.run(`UPDATE ledger_entries SET "state" = '{}' WHERE "sequence" = ${ALTERED}`);
    await foreign.run(`DELETE FROM ledger_entries WHERE "sequence" = ${ALTERED + 100}`);
    await foreign.close();
    const { body: expected } = await send(app, 'POST', VERIFY);
    await app.close();
    expect(expected).toMatchObject({ valid: false, entriesVerified: LENGTH - 1, brokenLinks: 1, invalidHashes: 1 });
    await withProgram(async (program) => {
      const { body } = await program.send('POST', VERIFY);
      expect(body).toEqual({ ...expected, firstInvalid: ALTERED, durationMs: expect.any(Number) });
    });
  });
});

describe('Verification of long entries', () => {
  const ENTRIES = 24;
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    const properties = { text: 'é"'.repeat(150_000) };
    for (let made = 0; made < ENTRIES; made += 1) await createEntity(app, { properties });
  });
  afterAll(() => app.close());

  it('reads only as many at a time as fit into memory easily', async () => {
    const { body } = await send(app, 'POST', VERIFY);
    expect(body).toMatchObject({ valid: true, entriesVerified: ENTRIES });
  });

  it('is refused if it would have to wait for many others, unless it covers the whole chain', async () => {
    const parts = Array.from({ length: 20 }, (_, index) => send(app, 'POST', VERIFY, { body: { from: index + 1 } }));
    const whole = Array.from({ length: 3 }, () => send(app, 'POST', VERIFY));
    for (const { status, body } of await Promise.all(whole)) expect([status, body.valid]).toEqual([200, true]);
    const answers = await Promise.all(parts);
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThan(0);
    for (const { headers, body } of refused) {
      expect(body.error.code).toBe('UNAVAILABLE');
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
    expect(answers.filter(({ status }) => status === 200).length).toBe(answers.length - refused.length);
  });

  it('passes the places of clients that leave to others', async () => {
    const server: Server = app.application.getHttpServer();
    const closed: Promise<unknown>[] = [];
    const onConnection = (socket: Socket): unknown => closed.push(once(socket, 'close'));
    server.on('connection', onConnection);
    let requests = 0;
    server.on('request', () => (requests += 1));
    const clients = Array.from({ length: 20 }, (_, index) => {
      const { hostname, port } = new URL(app.url);
      const client = connect(Number(port), hostname);
      client.write(post(VERIFY, JSON.stringify({ from: index + 1 })));
      return client;
    });
    while (requests < clients.length) await sleep(10);
    // A request that finds no place is refused at once, which shows that all places are taken.
    const [answer] = (await Promise.race(clients.map((client) => once(client, 'data')))) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 503 /);
    clients.forEach((client) => client.destroy());
    server.off('connection', onConnection);
    await Promise.all(closed);
    const others = Array.from({ length: 4 }, (_, index) => send(app, 'POST', VERIFY, { body: { from: index + 5 } }));
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });
});
