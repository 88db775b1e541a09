import { randomBytes } from 'node:crypto';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import type { StoredEntry } from '../../src/ledger/chain/stored-entry';
import { rewriteHistory } from './altered-ledger';
import { fill, keep, LENGTH, only, withForgery, PROVENANCE, TABLES, verify } from './checkpointed-log';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { itOnSqlite } from '../support/database/database-kind';
import { createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { openCheckpoint } from '../verification/log-checker';
import { faults, send } from '../support/application/send';

/** Bytes of a cosignature with ML-DSA-44 (https://c2sp.org/tlog-cosignature): key id, time and signature. */
const COSIGNATURE_BYTES = 4 + 8 + 2420;

function withoutEntry(sequence: number): (entry: StoredEntry) => StoredEntry | null {
  return (entry) => (entry.sequence === sequence ? null : entry);
}

describe('Given a checkpoint that a client kept, verification', () => {
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

  it('is valid for an untouched log', async () => {
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
    ['rewritten at its first entry', withForgery(1)],
    ['rewritten in its middle', withForgery(150)],
    ['rewritten at its last entry', withForgery(LENGTH)],
    ['without its first entry', withoutEntry(1)],
    ['without one of its middle', withoutEntry(150)],
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

  it('never gets a signed checkpoint of such a history, as none that contradicts an earlier one is signed', async () => {
    await keep(app);
    for (const alter of [withForgery(1), withoutEntry(150), only(LENGTH - 1)]) {
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

  it('finds rewritten entries if the tree was left unchanged', async () => {
    const [{ frontier } = { frontier: '' }] = await foreign.all<{ frontier: string }>(
      'SELECT frontier FROM ledger_head',
    );
    const [{ hash } = { hash: '' }] = await foreign.all<{ hash: string }>('SELECT hash FROM ledger_tree_nodes');
    await rewriteHistory(foreign, withForgery(150));
    await foreign.run('UPDATE ledger_head SET frontier = $1', [frontier]);
    await foreign.run('UPDATE ledger_tree_nodes SET hash = $1', [hash]);
    expect(await verify(app)).toMatchObject({
      valid: false,
      brokenLinks: 0,
      invalidHashes: 0,
      tree: { matches: false },
    });
  });

  it('cannot be followed by writes while the head record has a foreign tree', async () => {
    await foreign.run(`UPDATE ledger_head SET frontier = '0:'`);
    const refused = await send(app, 'POST', '/api/v1/entities', { body: { type: 'service', name: 'x' } });
    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'UNAVAILABLE' } } });
    expect(await send(app, 'GET', `${PROVENANCE}/1/proof`)).toMatchObject({ status: 500 });
    expect((await send(app, 'GET', '/api/v1/stats')).body.provenanceEntries).toBe(LENGTH);
  });

  it('recognises a checkpoint that somebody altered or another log signed', async () => {
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

  it('accepts a checkpoint with 16 witness signatures of the largest kind', async () => {
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

  it('with a checkpoint always covers the whole chain', async () => {
    const checkpoint = await keep(app);
    const refused = await send(app, 'POST', `${PROVENANCE}/verify`, { body: { checkpoint, from: 2 } });
    expect([refused.status, faults(refused)]).toEqual([400, { from: expect.stringContaining('whole chain') }]);
    const from1 = await send(app, 'POST', `${PROVENANCE}/verify`, { body: { checkpoint, from: 1 } });
    expect(from1.body).toMatchObject({ valid: true, checkpoint: { extended: true } });
  });

  it('answers concurrent calls, each with its own checkpoint', async () => {
    const checkpoints = [await keep(app)];
    await createEntity(app);
    checkpoints.push(await keep(app));
    const answers = await Promise.all([...checkpoints, ...checkpoints].map((checkpoint) => verify(app, checkpoint)));
    expect(answers.map(({ checkpoint }) => [checkpoint.size, checkpoint.extended])).toEqual([
      ...[LENGTH, LENGTH + 1, LENGTH, LENGTH + 1].map((size) => [size, true]),
    ]);
  });
});
