import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { Leftovers } from '../../src/ledger/writing/leftovers';
import { erase } from '../support/application/erase';
import { addClaim, createEntity } from '../support/application/factories';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { foreignConnection } from '../support/database/foreign-connection';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

describe('Removing records with long contents', () => {
  /** A batch deletes 2 MiB and the row that exceeds them. */
  const [CONTENTS, AT_ONCE] = [7, 3];
  const context = { note: 'x'.repeat(900_000) };
  let database: TemporaryDatabase;
  let app: TestApp;
  let foreign: SqlConnection;
  let entityId: string;

  beforeAll(async () => {
    database = await temporaryDatabase();
    app = await createTestApp({ environment: { ...database.environment, RETAIN_AT_LEAST: 'PT0S' } });
    foreign = await foreignConnection(app);
    entityId = (await createEntity(app)).id;
    for (let count = 0; count < CONTENTS; count += 1) await addClaim(app, entityId, { context });
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
    await database.remove();
  });
  afterEach(() => jest.restoreAllMocks());

  async function count(rows: string): Promise<number> {
    const [row] = await foreign.all<{ count: number }>(`SELECT count(*) AS "count" FROM ${rows}`);
    return Number(row?.count);
  }

  it('deletes few rows, and empties few entries, at a time', async () => {
    const deleteChunk = Reflect.get(Leftovers.prototype, 'deleteChunk');
    const [claims, states]: [number[], number[]] = [[], []];
    jest.spyOn(Leftovers.prototype, 'deleteChunk').mockImplementation(async function (this: Leftovers, connection) {
      claims.push(await count('"claims"'));
      await deleteChunk.call(this, connection);
      states.push(await count(`"ledger_entries" WHERE "state" LIKE '%xxx%'`));
    });
    await erase(app, { type: 'entity', id: entityId });
    expect(new Set(claims)).toEqual(new Set([CONTENTS - AT_ONCE, CONTENTS - 2 * AT_ONCE, 0]));
    expect(new Set(states)).toEqual(new Set([CONTENTS, CONTENTS - AT_ONCE, CONTENTS - 2 * AT_ONCE, 0]));
    expect(await foreign.all('SELECT * FROM "ledger_leftovers"')).toEqual([]);
    expect((await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } })).body.valid).toBe(true);
  });

  it('deletes few expired answers at a time, the oldest first', async () => {
    for (let count = 0; count < CONTENTS; count += 1)
      await foreign.run(
        `INSERT INTO "idempotency_keys" ("id", "contentHash", "subjects", "answer", "createdAt") VALUES ($1, '', '[]', $2, $3)`,
        [`long-${count}`, context.note, `2020-01-0${CONTENTS - count}T00:00:00.000Z`],
      );
    const left = (): Promise<string[]> =>
      foreign
        .all<{ id: string }>(`SELECT "id" FROM "idempotency_keys" WHERE "id" LIKE 'long-%' ORDER BY "id"`)
        .then((rows) => rows.map(({ id }) => id));
    const tidy = async (key: string): Promise<void> => {
      const body = { type: 'a', name: 'b' };
      await send(app, 'POST', '/api/v1/entities', { body, headers: { 'Idempotency-Key': key } });
    };
    await tidy('first');
    expect(await left()).toEqual(['long-0', 'long-1', 'long-2', 'long-3']);
    await tidy('second');
    await tidy('third');
    expect(await left()).toEqual([]);
  });
});
