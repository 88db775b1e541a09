import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SqlConnection } from '../../src/database/sql-connection';
import type { StoredEntry } from '../../src/ledger/chain/hash-chain';
import { rewriteHistory, withOtherState } from './altered-ledger';
import { API_KEY, createTestApp, type TestApp } from '../support/application/create-test-app';
import { itOnSqlite } from '../support/database/database-kind';
import { addClaim, createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { openCheckpoint } from './log-checker';
import { ROOT } from '../support/documents/markdown';
import { faults, send, type Parsed } from '../support/application/send';
import { run } from '../support/processes/shell';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const PROVENANCE = '/api/v1/provenance';
const MAIN = join(ROOT, 'dist', 'main.js');
const LENGTH = 300;
/** Of a cosignature with ML-DSA-44 (https://c2sp.org/tlog-cosignature): key id, time and signature. */
const COSIGNATURE_BYTES = 4 + 8 + 2420;
const TABLES = ['ledger_entries', 'ledger_head', 'ledger_tree_nodes'];

async function fill(app: TestApp, length = LENGTH): Promise<void> {
  const { id } = await createEntity(app);
  for (let made = 1; made < length; made += 1) await addClaim(app, id, { value: made });
}

async function verify(app: TestApp, checkpoint?: string): Promise<Parsed> {
  const { status, body } = await send(app, 'POST', `${PROVENANCE}/verify`, { body: checkpoint ? { checkpoint } : {} });
  expect(status).toBe(200);
  return body;
}

async function keep(app: TestApp): Promise<string> {
  return (await send(app, 'GET', `${PROVENANCE}/checkpoint`)).body.checkpoint;
}

/** Leaves the first entries as they are. */
function only(length: number): (entry: StoredEntry) => StoredEntry | null {
  return (entry) => (entry.sequence <= length ? entry : null);
}

function without(sequence: number): (entry: StoredEntry) => StoredEntry | null {
  return (entry) => (entry.sequence === sequence ? null : entry);
}

function otherwise(sequence: number): (entry: StoredEntry) => StoredEntry {
  return (entry) => (entry.sequence === sequence ? withOtherState({ ...entry, reason: 'forged' }) : entry);
}

describe('With a checkpoint that a client kept, verification', () => {
  let app: TestApp;
  let foreign: SqlConnection;

  beforeAll(async () => {
    app = await createTestApp();
    await fill(app);
    foreign = await foreignConnection(app);
    for (const table of TABLES) await foreign.run(`CREATE TEMP TABLE ${table}_before AS SELECT * FROM ${table}`);
  });
  afterEach(async () => {
    for (const table of TABLES) {
      await foreign.run(`DELETE FROM ${table}`);
      await foreign.run(`INSERT INTO ${table} SELECT * FROM ${table}_before`);
    }
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  it('is valid on a log that nobody touched', async () => {
    const checkpoint = await keep(app);
    const { origin, size, rootHash } = openCheckpoint(
      checkpoint,
      (await send(app, 'GET', `${PROVENANCE}/checkpoint`)).body.publicKey,
    );
    expect(await verify(app, checkpoint)).toMatchObject({
      valid: true,
      tree: { size: LENGTH, rootHash, matches: true },
      checkpoint: { origin, size, rootHash, signature: 'valid', extended: true },
    });
    expect(await verify(app)).not.toHaveProperty('checkpoint');
  });

  it.each<[what: string, alter: (entry: StoredEntry) => StoredEntry | null]>([
    ['rewritten at its first entry', otherwise(1)],
    ['rewritten in its middle', otherwise(150)],
    ['rewritten at its last entry', otherwise(LENGTH)],
    ['without its first entry', without(1)],
    ['without one of its middle', without(150)],
    ['cut at its end', only(LENGTH - 1)],
    ['empty', only(0)],
  ])('finds a history that is %s, although chain, head and tree are sound', async (_what, alter) => {
    const checkpoint = await keep(app);
    await rewriteHistory(foreign, alter);
    expect(await verify(app)).toMatchObject({ valid: true, brokenLinks: 0, invalidHashes: 0, tree: { matches: true } });
    expect(await verify(app, checkpoint)).toMatchObject({
      valid: false,
      brokenLinks: 0,
      invalidHashes: 0,
      tree: { matches: true },
      checkpoint: { signature: 'valid', extended: false },
    });
  });

  it('is not given a checkpoint of such a history: none is signed that contradicts an earlier one', async () => {
    await keep(app);
    for (const alter of [otherwise(1), without(150), only(LENGTH - 1)]) {
      await rewriteHistory(foreign, alter);
      expect(await send(app, 'GET', `${PROVENANCE}/checkpoint`)).toMatchObject({
        status: 500,
        body: {
          error: { code: 'INTERNAL_ERROR', message: expect.stringContaining('contradicts an earlier checkpoint') },
        },
      });
    }
  });

  it.each<[what: string, sql: string]>([
    ['the frontier', `UPDATE ledger_head SET frontier = '0:'`],
    ['a kept subtree', `UPDATE ledger_tree_nodes SET hash = '${'0'.repeat(64)}'`],
    ['the place of a kept subtree', `UPDATE ledger_tree_nodes SET level = 16`],
    ['a kept subtree of no such level', `INSERT INTO ledger_tree_nodes VALUES (3, 0, '${'0'.repeat(64)}')`],
    ['a kept subtree of a negative level', `INSERT INTO ledger_tree_nodes VALUES (-2147483648, ${-(2n ** 63n)}, '')`],
    ['a kept subtree at a place beyond 2^53', `INSERT INTO ledger_tree_nodes VALUES (8, ${2n ** 53n + 1n}, '')`],
    ['a kept subtree at the last place', `INSERT INTO ledger_tree_nodes VALUES (8, ${2n ** 63n - 1n}, '')`],
    ['that a kept subtree is gone', `DELETE FROM ledger_tree_nodes`],
  ])('finds, also without one, that %s was altered', async (_what, sql) => {
    await foreign.run(sql);
    expect(await verify(app)).toMatchObject({ valid: false, brokenLinks: 0, tree: { size: LENGTH, matches: false } });
  });

  itOnSqlite.each<[what: string, sql: string]>([
    ['a level beyond 2^53', `INSERT INTO ledger_tree_nodes VALUES (${2n ** 53n + 1n}, 0, '')`],
    ['bytes at their level', `INSERT INTO ledger_tree_nodes VALUES (x'08', 0, '')`],
    ['bytes at their place', `INSERT INTO ledger_tree_nodes VALUES (8, x'00', '')`],
    ['bytes for their hash', `UPDATE ledger_tree_nodes SET hash = CAST(hash AS BLOB)`],
  ])('finds kept subtrees that have %s', async (_what, sql) => {
    await foreign.run(sql);
    expect(await verify(app)).toMatchObject({ valid: false, brokenLinks: 0, tree: { size: LENGTH, matches: false } });
  });

  it('finds entries rewritten next to a tree that was left alone', async () => {
    const [{ frontier } = { frontier: '' }] = await foreign.all<{ frontier: string }>(
      'SELECT frontier FROM ledger_head',
    );
    const [{ hash } = { hash: '' }] = await foreign.all<{ hash: string }>('SELECT hash FROM ledger_tree_nodes');
    await rewriteHistory(foreign, otherwise(150));
    await foreign.run('UPDATE ledger_head SET frontier = $1', [frontier]);
    await foreign.run('UPDATE ledger_tree_nodes SET hash = $1', [hash]);
    expect(await verify(app)).toMatchObject({
      valid: false,
      brokenLinks: 0,
      invalidHashes: 0,
      tree: { matches: false },
    });
  });

  it('writes nothing while the head record has another tree than its own', async () => {
    await foreign.run(`UPDATE ledger_head SET frontier = '0:'`);
    const refused = await send(app, 'POST', '/api/v1/entities', { body: { type: 'service', name: 'x' } });
    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'UNAVAILABLE' } } });
    expect(await send(app, 'GET', `${PROVENANCE}/1/proof`)).toMatchObject({ status: 500 });
    expect((await send(app, 'GET', '/api/v1/stats')).body.provenanceEntries).toBe(LENGTH);
  });

  it('tells a checkpoint that somebody altered or another log signed', async () => {
    const checkpoint = await keep(app);
    const forged = checkpoint.replace(`\n${LENGTH}\n`, `\n${LENGTH - 1}\n`);
    expect(await verify(app, forged)).toMatchObject({
      valid: false,
      checkpoint: { size: LENGTH - 1, signature: 'invalid', extended: false },
    });
    const other = await createTestApp();
    await fill(other, 3);
    const foreignCheckpoint = await keep(other);
    await other.close();
    expect(await verify(app, foreignCheckpoint)).toMatchObject({
      valid: false,
      checkpoint: { signature: 'unknown_key', extended: false },
    });
  });

  it('takes a checkpoint with 16 signatures of witnesses of the largest kind', async () => {
    const checkpoint = await keep(app);
    const cosignature = randomBytes(COSIGNATURE_BYTES).toString('base64');
    const witnesses = Array.from(
      { length: 16 },
      (_unused, index) => `\u2014 ${`${index}`.padStart(255, 'w')} ${cosignature}\n`,
    );
    expect(await verify(app, checkpoint + witnesses.join(''))).toMatchObject({
      valid: true,
      checkpoint: { signature: 'valid', extended: true },
    });
  });

  it.each<[what: string, text: string]>([
    ['no note', 'x'],
    ['no signature', 'origin\n1\nsVm/pH+O7MT0tPvJLF9u7hOmgTL0905or2vMGqRc5QM=\n\n'],
    ['no newline at its end', 'origin\n1\nsVm/pH+O7MT0tPvJLF9u7hOmgTL0905or2vMGqRc5QM=\n\n\u2014 origin AAAAAAAA'],
    [
      'two newlines at its end',
      'origin\n1\nsVm/pH+O7MT0tPvJLF9u7hOmgTL0905or2vMGqRc5QM=\n\n\u2014 origin AAAAAAAA\n\n',
    ],
    ['no dash', 'origin\n1\nsVm/pH+O7MT0tPvJLF9u7hOmgTL0905or2vMGqRc5QM=\n\n- origin AAAAAAAA\n'],
    ['no size', 'origin\nx\nsVm/pH+O7MT0tPvJLF9u7hOmgTL0905or2vMGqRc5QM=\n\n\u2014 origin AAAAAAAA\n'],
    [
      'a size with a zero before it',
      'origin\n01\nsVm/pH+O7MT0tPvJLF9u7hOmgTL0905or2vMGqRc5QM=\n\n\u2014 origin AAAAAAAA\n',
    ],
    [
      'a size beyond numbers',
      `origin\n${2 ** 53}\nsVm/pH+O7MT0tPvJLF9u7hOmgTL0905or2vMGqRc5QM=\n\n\u2014 origin AAAAAAAA\n`,
    ],
    ['a short root', 'origin\n1\nsVm/\n\n\u2014 origin AAAAAAAA\n'],
    ['a root in hex', `origin\n1\n${'0'.repeat(64)}\n\n\u2014 origin AAAAAAAA\n`],
    ['no origin', '\n1\nsVm/pH+O7MT0tPvJLF9u7hOmgTL0905or2vMGqRc5QM=\n\n\u2014 origin AAAAAAAA\n'],
    [
      'other line ends',
      'origin\r\n1\r\nsVm/pH+O7MT0tPvJLF9u7hOmgTL0905or2vMGqRc5QM=\r\n\r\n\u2014 origin AAAAAAAA\r\n',
    ],
  ])('refuses a text with %s', async (_what, checkpoint) => {
    const answer = await send(app, 'POST', `${PROVENANCE}/verify`, { body: { checkpoint } });
    expect([answer.status, faults(answer)]).toEqual([400, { checkpoint: expect.stringMatching(/^must /) }]);
  });

  it('speaks of the whole chain only', async () => {
    const checkpoint = await keep(app);
    const refused = await send(app, 'POST', `${PROVENANCE}/verify`, { body: { checkpoint, from: 2 } });
    expect([refused.status, faults(refused)]).toEqual([400, { from: expect.stringContaining('whole chain') }]);
    const from1 = await send(app, 'POST', `${PROVENANCE}/verify`, { body: { checkpoint, from: 1 } });
    expect(from1.body).toMatchObject({ valid: true, checkpoint: { extended: true } });
  });

  it('answers calls that come together, each with its own checkpoint', async () => {
    const checkpoints = [await keep(app)];
    await createEntity(app);
    checkpoints.push(await keep(app));
    const answers = await Promise.all([...checkpoints, ...checkpoints].map((checkpoint) => verify(app, checkpoint)));
    expect(answers.map(({ checkpoint }) => [checkpoint.size, checkpoint.extended])).toEqual([
      ...[LENGTH, LENGTH + 1, LENGTH, LENGTH + 1].map((size) => [size, true]),
    ]);
  });
});

describe('The last checkpoint is kept outside the database', () => {
  let database: TemporaryDatabase;
  let app: TestApp | null;

  beforeEach(async () => {
    database = await temporaryDatabase();
    app = null;
  });
  afterEach(async () => {
    await app?.close();
    await database.remove();
  });

  async function start(environment: Record<string, string> = {}): Promise<TestApp> {
    app = await createTestApp({ environment: { ...database.environment, ...environment } });
    return app;
  }

  async function stop(): Promise<void> {
    await app?.close();
    app = null;
  }

  function kept(ending: string): string {
    const [name = ''] = readdirSync(database.folder).filter((found) => found.endsWith(ending));
    return join(database.folder, name);
  }

  /** As it stands when the service does not run. */
  async function alterStopped(alter: (entry: StoredEntry) => StoredEntry | null): Promise<void> {
    const running = await start();
    const foreign = await foreignConnection(running);
    const checkpoint = readFileSync(kept('.checkpoint'));
    await rewriteHistory(foreign, alter);
    await foreign.close();
    await stop();
    writeFileSync(kept('.checkpoint'), checkpoint);
  }

  /** Starts a program of its own where it must not start: a start in this process would keep the database's lock. */
  async function refusal(environment: Record<string, string> = {}): Promise<string> {
    const quiet = { NODE_ENV: '', API_KEY, PORT: '0', ...database.environment };
    const { exitCode, output, errors } = await run(process.execPath, [MAIN], {
      folder: database.folder,
      environment: { ...quiet, ...environment },
    });
    expect([exitCode, output]).toEqual([65, '']);
    return errors;
  }

  it('with the key next to it, for nobody but the owner, and both are found again', async () => {
    const first = await start();
    await fill(first, 3);
    const before = (await send(first, 'GET', `${PROVENANCE}/checkpoint`)).body;
    expect(readFileSync(kept('.checkpoint'), 'utf8')).toBe(before.checkpoint);
    expect(statSync(kept('.signing-key')).mode & 0o777).toBe(0o600);
    await stop();
    const second = await start();
    expect((await send(second, 'GET', `${PROVENANCE}/checkpoint`)).body).toEqual(before);
  });

  it('at a stop, too', async () => {
    await fill(await start(), 3);
    await stop();
    expect(readFileSync(kept('.checkpoint'), 'utf8').split('\n')[1]).toBe('3');
  });

  it('and a key of the operator leaves no file', async () => {
    const key = Buffer.alloc(32, 9).toString('base64');
    const before = await start({ SIGNING_KEY: key });
    const { checkpoint, publicKey } = (await send(before, 'GET', `${PROVENANCE}/checkpoint`)).body;
    expect(readdirSync(database.folder).filter((name) => name.endsWith('.signing-key'))).toEqual([]);
    await stop();
    const changed = await start({ SIGNING_KEY: Buffer.alloc(32, 8).toString('base64') });
    expect(await verify(changed, checkpoint)).toMatchObject({ valid: true, checkpoint: { signature: 'unknown_key' } });
    await stop();
    const rotated = await start({
      SIGNING_KEY: Buffer.alloc(32, 8).toString('base64'),
      SIGNING_KEY_PREVIOUS: publicKey,
      CHECKPOINT_ORIGIN: 'example.com/renamed',
    });
    expect(await verify(rotated, checkpoint)).toMatchObject({ valid: true, checkpoint: { signature: 'valid' } });
  });

  it.each<[what: string, alter: (entry: StoredEntry) => StoredEntry | null, why: RegExp]>([
    ['is older', only(3), /ends at entry 3, before the checkpoint's 5/],
    ['was rewritten', otherwise(2), /first 5 entries are different or were altered/],
    ['is empty', only(0), /ends at entry 0, before the checkpoint's 5/],
  ])(
    'so a database that %s does not start unless that is accepted, and that is recorded',
    async (_what, alter, why) => {
      await fill(await start(), 5);
      await stop();
      await alterStopped(alter);
      const message = await refusal();
      expect(message).toMatch(why);
      expect(message.trimEnd()).not.toContain('\n');
      const name = /ACCEPT_RESTORED_DATABASE=(5:[0-9a-f]{16})/.exec(message)?.[1] ?? '';
      await refusal({ ACCEPT_RESTORED_DATABASE: name.replace('5:', '4:') });
      const givenUp = readFileSync(kept('.checkpoint'), 'utf8');

      const accepted = await start({ ACCEPT_RESTORED_DATABASE: name });
      const [entry] = (await send(accepted, 'GET', '/api/v1/audit?action=ledger.restored')).body.data;
      expect(entry).toMatchObject({
        actor: { type: 'system', id: 'service' },
        subjectType: 'restoration',
        subjectId: expect.stringMatching(/^rst_/),
        details: { acceptedSize: entry.sequence - 1, givenUpSize: 5 },
      });
      const { body } = await send(accepted, 'GET', `${PROVENANCE}/${entry.sequence}`);
      expect(body.state).toMatchObject({ givenUpCheckpoint: givenUp, acceptedSize: entry.sequence - 1 });
      const next = await keep(accepted);
      expect(await verify(accepted, next)).toMatchObject({ valid: true, checkpoint: { extended: true } });
      expect(await verify(accepted, givenUp)).toMatchObject({ valid: false, checkpoint: { extended: false } });
      await stop();
      // The permission was for that one checkpoint: left on, it changes nothing.
      const again = await start({ ACCEPT_RESTORED_DATABASE: name });
      expect((await send(again, 'GET', '/api/v1/audit?action=ledger.restored')).body.total).toBe(1);
    },
  );

  it('so a start is refused while it cannot be read', async () => {
    await fill(await start(), 2);
    await stop();
    writeFileSync(kept('.checkpoint'), 'x');
    expect(await refusal()).toMatch(/checkpoint kept in .* cannot be read: it must have an empty line/);
  });

  it('and writes go on once the log is again what was signed', async () => {
    const running = await start();
    const write = async (): Promise<number> =>
      (await send(running, 'POST', '/api/v1/entities', { body: { type: 'service', name: 'x' } })).status;
    await fill(running, 3);
    await keep(running);
    const foreign = await foreignConnection(running);
    for (const table of TABLES) await foreign.run(`CREATE TEMP TABLE ${table}_before AS SELECT * FROM ${table}`);
    await rewriteHistory(foreign, otherwise(2));
    expect((await send(running, 'GET', `${PROVENANCE}/checkpoint`)).status).toBe(500);
    expect(await write()).toBe(503);
    for (const table of TABLES) {
      await foreign.run(`DELETE FROM ${table}`);
      await foreign.run(`INSERT INTO ${table} SELECT * FROM ${table}_before`);
    }
    await foreign.close();
    expect((await send(running, 'GET', `${PROVENANCE}/checkpoint`)).status).toBe(200);
    expect(await write()).toBe(201);
  });

  it('so the service neither signs nor writes while it runs on what contradicts it, and says so', async () => {
    const running = await start();
    const probe = async (path: string): Promise<number> => (await send(running, 'GET', `/api/v1/health${path}`)).status;
    await fill(running, 3);
    const before = await keep(running);
    expect((await send(running, 'GET', '/metrics')).text).toMatch(/^governance_checkpoint_contradicted 0$/m);
    expect([await probe(''), await probe('/ready'), await probe('/live')]).toEqual([200, 200, 200]);
    const foreign = await foreignConnection(running);
    await rewriteHistory(foreign, otherwise(2));
    await foreign.close();
    expect((await send(running, 'GET', `${PROVENANCE}/checkpoint`)).status).toBe(500);
    const refused = await send(running, 'POST', '/api/v1/entities', { body: { type: 'service', name: 'x' } });
    expect(refused).toMatchObject({
      status: 503,
      body: { error: { code: 'UNAVAILABLE', message: expect.stringContaining('contradicts an earlier checkpoint') } },
    });
    expect([await probe(''), await probe('/ready'), await probe('/live')]).toEqual([503, 503, 200]);
    expect((await send(running, 'GET', '/api/v1/stats')).body.provenanceEntries).toBe(3);
    expect((await send(running, 'GET', '/metrics')).text).toMatch(/^governance_checkpoint_contradicted 1$/m);
    expect((await send(running, 'GET', '/metrics')).text).toMatch(/^governance_checkpoint_size 3$/m);
    await stop();
    expect(readFileSync(kept('.checkpoint'), 'utf8')).toBe(before);
  });
});
