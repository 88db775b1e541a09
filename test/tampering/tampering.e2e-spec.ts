import type { SqlConnection, SqlRow, SqlValue } from '../../src/ledger/database/sql-connection';
import type { VerificationResponse } from '../../src/evidence/provenance/dto/verification.response';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { itOnSqlite } from '../support/database/database-kind';
import { addClaim, createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { send } from '../support/application/send';
import { temporaryDatabase } from '../support/database/temporary-database';

const LENGTH = 7;
const [FIRST, MIDDLE, LAST] = [1, 4, LENGTH];

describe('Verification finds', () => {
  let app: TestApp;
  let foreign: SqlConnection;
  let untouched: Omit<VerificationResponse, 'durationMs'>;

  beforeAll(async () => {
    app = await createTestApp();
    const { id } = await createEntity(app);
    for (let made = 2; made < LENGTH; made += 1) await addClaim(app, id, { value: made });
    await send(app, 'PUT', `/api/v1/entities/${id}`, { body: { name: 'Renamed' } });
    foreign = await foreignConnection(app);
    await foreign.run('CREATE TEMP TABLE entries_before AS SELECT * FROM ledger_entries');
    await foreign.run('CREATE TEMP TABLE head_before AS SELECT * FROM ledger_head');
    untouched = await verify();
  });
  afterEach(async () => {
    await restore();
    expect(await verify()).toEqual(untouched);
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  async function verify(from?: number): Promise<Omit<VerificationResponse, 'durationMs'>> {
    const request = from === undefined ? {} : { body: { from } };
    const { status, body } = await send(app, 'POST', '/api/v1/provenance/verify', request);
    expect(status).toBe(200);
    const { durationMs, ...verdict } = body;
    expect(durationMs).toBeGreaterThanOrEqual(0);
    return verdict;
  }

  async function restore(): Promise<void> {
    await foreign.run('DELETE FROM ledger_entries');
    await foreign.run('INSERT INTO ledger_entries SELECT * FROM entries_before');
    await foreign.run('DELETE FROM ledger_head');
    await foreign.run('INSERT INTO ledger_head SELECT * FROM head_before');
  }

  async function entry(sequence: number): Promise<SqlRow> {
    const [row] = await foreign.all('SELECT * FROM ledger_entries WHERE sequence = $1', [sequence]);
    return row ?? {};
  }

  function change(sequence: number, column: string, value: SqlValue): Promise<void> {
    return foreign.run(`UPDATE ledger_entries SET "${column}" = $1 WHERE sequence = $2`, [value, sequence]);
  }

  it('nothing in an untouched chain', () => {
    expect(untouched).toMatchObject({ valid: true, entriesVerified: LENGTH, brokenLinks: 0, invalidHashes: 0 });
  });

  it.each([FIRST, MIDDLE, LAST])('a change of any column of entry %i', async (sequence) => {
    const columns = Object.entries(await entry(sequence));
    expect(columns.length).toBeGreaterThan(20);
    for (const [column, value] of columns) {
      // The only number that may be missing.
      for (const altered of column === 'erased' ? [sequence + 1] : alterations(value)) {
        await change(sequence, column, altered);
        const { valid, firstInvalid, brokenLinks, invalidHashes } = await verify();
        const outcome = { column, altered, valid, isAtTheEntry: firstInvalid === sequence };
        // An entry with a changed sequence is reported at the place of its successor.
        expect(outcome).toEqual({ column, altered, valid: false, isAtTheEntry: column !== 'sequence' });
        expect(brokenLinks + invalidHashes).toBeGreaterThan(0);
        await restore();
      }
    }
  });

  it('which hashes and links are wrong, and counts each entry once', async () => {
    const zeros = '0'.repeat(64);
    const counts: [column: string, sequence: number, brokenLinks: number, invalidHashes: number][] = [
      ['action', MIDDLE, 0, 1],
      ['details', LAST, 0, 1],
      ['state', FIRST, 0, 1],
      ['auditHash', MIDDLE, 0, 1],
      ['stateHash', MIDDLE, 0, 1],
      ['previousHash', MIDDLE, 1, 1],
      ['hash', FIRST, 1, 1],
      ['hash', LAST, 1, 1],
    ];
    for (const [column, sequence, brokenLinks, invalidHashes] of counts) {
      await change(sequence, column, zeros);
      expect(await verify()).toEqual({
        ...plain(untouched),
        valid: false,
        brokenLinks,
        invalidHashes,
        firstInvalid: sequence,
        tree: expect.objectContaining({ matches: column !== 'hash' }),
      });
      await restore();
    }
  });

  it('a state that is the same JSON in another notation', async () => {
    const { state } = await entry(MIDDLE);
    await change(MIDDLE, 'state', ` ${String(state)}`);
    expect(await verify()).toMatchObject({ valid: false, invalidHashes: 1, firstInvalid: MIDDLE });
  });

  it.each([
    [FIRST, 2],
    [MIDDLE, MIDDLE + 1],
    [LAST, LAST],
  ])('that entry %i was removed', async (sequence, firstInvalid) => {
    await foreign.run('DELETE FROM ledger_entries WHERE sequence = $1', [sequence]);
    expect(await verify()).toEqual({
      ...plain(untouched),
      valid: false,
      entriesVerified: LENGTH - 1,
      brokenLinks: 1,
      firstInvalid,
      tree: { size: LENGTH - 1, rootHash: expect.any(String), matches: false },
    });
  });

  it('the removal of all entries', async () => {
    await foreign.run('DELETE FROM ledger_entries');
    expect(await verify()).toMatchObject({ valid: false, entriesVerified: 0, brokenLinks: 1, firstInvalid: 1 });
  });

  it('two entries that were swapped', async () => {
    await change(3, 'sequence', -3);
    await change(5, 'sequence', 3);
    await change(-3, 'sequence', 5);
    expect(await verify()).toMatchObject({ valid: false, entriesVerified: LENGTH, invalidHashes: 2, firstInvalid: 3 });
  });

  /** Inserts a copy of the first entry. */
  async function putIn(sequence: number | bigint | string): Promise<void> {
    const columns = Object.keys(await entry(1)).filter((column) => column !== 'sequence');
    const names = columns.map((column) => `"${column}"`).join(', ');
    await foreign.run(
      `INSERT INTO ledger_entries (sequence, ${names}) SELECT ${sequence}, ${names} FROM ledger_entries WHERE sequence = 1`,
    );
  }

  it.each([Number.MIN_SAFE_INTEGER, -1, 0, LENGTH + 1, 1000, Number.MAX_SAFE_INTEGER])(
    'that an entry was put in at %i',
    async (sequence) => {
      await putIn(sequence);
      expect(await verify()).toMatchObject({ valid: false, entriesVerified: LENGTH + 1 });
    },
  );

  it.each([2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n])('that an entry was put in at %s', async (sequence) => {
    await putIn(sequence);
    const result = { ...plain(untouched), valid: false, brokenLinks: 1, firstInvalid: LENGTH + 1 };
    expect(await verify()).toEqual(result);
    expect(await verify(MIDDLE)).toEqual({ ...result, entriesVerified: LENGTH - MIDDLE + 1, tree: null });
    await putIn(1000);
    expect(await verify()).toMatchObject({ valid: false, brokenLinks: 3, firstInvalid: 1000 });
  });

  it.each([-(2n ** 53n), -(2n ** 53n) - 1n, -(2n ** 63n)])('that an entry was put in at %s', async (sequence) => {
    await putIn(sequence);
    expect(await verify()).toMatchObject({ valid: false, brokenLinks: 1, firstInvalid: FIRST });
  });

  itOnSqlite.each([`'x'`, `x'08'`, '1.5', `'1.5x'`])('that an entry was put in at %s', async (sequence) => {
    await putIn(sequence);
    const { valid, brokenLinks } = await verify();
    expect({ valid, isBroken: brokenLinks > 0 }).toEqual({ valid: false, isBroken: true });
  });

  it.each<[column: string, value: SqlValue, firstInvalid: number]>([
    ['hash', 'f'.repeat(64), LENGTH + 1],
    ['sequence', LENGTH + 1, LENGTH + 1],
    ['sequence', LENGTH - 1, LENGTH + 1],
    ['sequence', 0, LENGTH + 1],
  ])('that the %s of the head record was changed to %s', async (column, value, firstInvalid) => {
    await foreign.run(`UPDATE ledger_head SET "${column}" = $1`, [value]);
    expect(await verify()).toEqual({
      ...plain(untouched),
      valid: false,
      brokenLinks: 1,
      head: { ...plain(untouched.head), [column]: value },
      firstInvalid,
    });
  });

  itOnSqlite('bytes in place of text, even those of the same text', async () => {
    for (const column of ['action', 'details', 'state', 'hash']) {
      await foreign.run(`UPDATE ledger_entries SET "${column}" = CAST("${column}" AS BLOB) WHERE sequence = ${MIDDLE}`);
      expect(await verify()).toMatchObject({ valid: false, entriesVerified: LENGTH, firstInvalid: MIDDLE });
      await restore();
    }
  });

  itOnSqlite.each([FIRST, MIDDLE, LAST])(
    'bytes in any column of entry %i, also when records are verified',
    async (sequence) => {
      for (const column of Object.keys(await entry(sequence))) {
        await foreign.run(`UPDATE ledger_entries SET "${column}" = x'ff00' WHERE sequence = ${sequence}`);
        const { status, body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
        expect({ column, status, valid: body.valid }).toEqual({ column, status: 200, valid: false });
        await restore();
      }
    },
  );

  itOnSqlite('text that continues after a NUL', async () => {
    await foreign.run(`UPDATE ledger_entries SET "state" = "state" || char(0) || 'x' WHERE sequence = ${MIDDLE}`);
    expect(await verify()).toMatchObject({ valid: false, invalidHashes: 1, firstInvalid: MIDDLE });
  });

  it('from a sequence on, only faults from there on, including the link to the entry before', async () => {
    const sound = { ...plain(untouched), entriesVerified: LENGTH - MIDDLE + 1, tree: null };
    expect(await verify(MIDDLE)).toEqual(sound);
    await change(MIDDLE - 1, 'action', 'x');
    expect(await verify(MIDDLE)).toEqual(sound);
    await change(MIDDLE - 1, 'hash', 'f'.repeat(64));
    expect(await verify(MIDDLE)).toEqual({ ...sound, valid: false, brokenLinks: 1, firstInvalid: MIDDLE });
    await foreign.run('DELETE FROM ledger_entries WHERE sequence = $1', [MIDDLE - 1]);
    expect(await verify(MIDDLE)).toMatchObject({ valid: false, brokenLinks: 1, firstInvalid: MIDDLE });
  });

  it('from beyond the end, only whether the chain ends where the head record says', async () => {
    const nothing = { ...plain(untouched), entriesVerified: 0, tree: null };
    expect(await verify(LENGTH + 1)).toEqual(nothing);
    expect(await verify(Number.MAX_SAFE_INTEGER)).toEqual(nothing);
    await foreign.run('DELETE FROM ledger_entries WHERE sequence = $1', [LENGTH]);
    expect(await verify(LENGTH + 1)).toEqual({ ...nothing, valid: false, brokenLinks: 1, firstInvalid: LENGTH });
  });

  it('a missing head record', async () => {
    await foreign.run('DELETE FROM ledger_head');
    expect(await verify()).toMatchObject({ valid: false, entriesVerified: LENGTH, brokenLinks: 1 });
  });
});

describe('A start', () => {
  it('is refused with a clear line if there are entries, but no head record', async () => {
    const database = await temporaryDatabase();
    try {
      const app = await createTestApp({ environment: database.environment });
      await createEntity(app);
      const foreign = await foreignConnection(app);
      await foreign.run('DELETE FROM ledger_head');
      await foreign.close();
      await app.close();
      await expect(createTestApp({ environment: database.environment })).rejects.toThrow(
        /entries up to sequence 1 but no head/,
      );
    } finally {
      await database.remove();
    }
  });

  it('is not prevented by a wrong head record, which verification reports', async () => {
    const database = await temporaryDatabase();
    try {
      let app = await createTestApp({ environment: database.environment });
      await createEntity(app);
      const foreign = await foreignConnection(app);
      await foreign.run(`UPDATE ledger_head SET hash = '${'0'.repeat(64)}'`);
      await foreign.close();
      await app.close();
      app = await createTestApp({ environment: database.environment });
      expect((await send(app, 'POST', '/api/v1/provenance/verify')).body).toMatchObject({
        valid: false,
        brokenLinks: 1,
      });
      await app.close();
    } finally {
      await database.remove();
    }
  });
});

/** Different values to which a column could be changed. */
function alterations(value: SqlValue): SqlValue[] {
  if (value === null) return ['x', ''];
  if (typeof value === 'number') return [value + 1000];
  return [`${value}x`, value.slice(1), ''].filter((altered) => altered !== value);
}

/** A plain object, so that it can be spread. */
function plain(value: object): object {
  return Object.fromEntries(Object.entries(value));
}
