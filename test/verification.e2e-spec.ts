import { join } from 'node:path';
import { createTestApp } from './support/create-test-app';
import { createEntity } from './support/factories';
import { foreignConnection } from './support/foreign-connection';
import { ROOT } from './support/markdown';
import { send } from './support/send';
import { startProgram, type StartedProgram } from './support/started-program';
import { temporaryDatabase, type TemporaryDatabase } from './support/temporary-database';

const MAIN = join(ROOT, 'dist', 'main.js');
const VERIFY = '/api/v1/provenance/verify';
/** More than one piece. */
const LENGTH = 1_200;
const ALTERED = 700;

/** In the built program the hashes are checked by a thread; where the sources run uncompiled, as in these tests, they are not. */
describe('Verification by the built program', () => {
  let database: TemporaryDatabase;

  beforeAll(async () => {
    database = await temporaryDatabase();
    const app = await createTestApp({ environment: database.environment });
    // A thousand connections at once would ask more of the machine than of the service.
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

  it('finds nothing in a sound chain, whole or from a sequence on, however many ask at once', () =>
    withProgram(async (program) => {
      const begins = [1, 600, 1, LENGTH, LENGTH + 1];
      const answers = await Promise.all(begins.map((from) => program.send('POST', VERIFY, { body: { from } })));
      expect(answers.map(({ body }) => [body.valid, body.entriesVerified])).toEqual(
        begins.map((from) => [true, LENGTH - from + 1]),
      );
    }));

  it('answers 503 to a verification that a stop cuts short, or finishes it', async () => {
    const program = await startProgram(MAIN, { ...database.environment, RATE_LIMIT: '1000000' });
    const verifications = Array.from({ length: 20 }, async (_, index) => {
      const { status } = await program.send('POST', VERIFY, { body: { from: index + 1 } });
      return status;
    });
    await Promise.race(verifications);
    expect(await program.stop()).toBe(0);
    for (const status of await Promise.all(verifications)) expect([200, 503]).toContain(status);
  });

  it('finds what the same program finds without a thread', async () => {
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
  it('reads as many at a time as memory is no matter', async () => {
    const app = await createTestApp();
    const properties = { text: 'é"'.repeat(150_000) };
    for (let made = 0; made < 12; made += 1) await createEntity(app, { properties });
    const { body } = await send(app, 'POST', VERIFY);
    await app.close();
    expect(body).toMatchObject({ valid: true, entriesVerified: 12 });
  });
});
