import { setTimeout as sleep } from 'node:timers/promises';
import { Configuration } from '../../src/core/config/configuration';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { CLAIM } from '../../src/governance/entities/claim.entity';
import { ENTITY } from '../../src/governance/entities/governed-entity.entity';
import { SYSTEM_CALLER } from '../../src/ledger/kinds/caller';
import { LedgerService } from '../../src/ledger/ledger.service';
import { Leftovers } from '../../src/ledger/writing/leftovers';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { itOnSqlite } from '../support/database/database-kind';
import { addClaim, auditOf, createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { runVerifier } from '../support/processes/run-verifier';
import { erase } from '../support/application/erase';
import { type Answer, type Parsed, send } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

/** Enough claims for several chunks. */
const CLAIMS = 4_500;
const COMMAND = 500;

describe('Removing an entity with many claims', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let foreign: SqlConnection;
  let entityId: string;
  let claimId: string;

  beforeEach(async () => {
    database = await temporaryDatabase();
    app = await createTestApp({ environment: { ...database.environment, RETAIN_AT_LEAST: 'PT0S' } });
    foreign = await foreignConnection(app);
    entityId = (await createEntity(app)).id;
    await Promise.all(Array.from({ length: CLAIMS / COMMAND }, () => addClaims(entityId)));
    claimId = (await addClaim(app, entityId)).id;
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await foreign.close();
    await app.close();
    await database.remove();
  });

  function addClaims(owner: string): Promise<void> {
    return app.application.get(LedgerService).write(SYSTEM_CALLER, async (transaction) => {
      await transaction.find(ENTITY, owner);
      for (let count = 0; count < COMMAND; count += 1) {
        const id = transaction.newId(CLAIM);
        const statement = { predicate: 'size', predicateKey: 'size', value: count, context: {} };
        const claim = { id, entityId: owner, ...statement, createdAt: transaction.now };
        transaction.insert(CLAIM, claim, { action: 'claim.added', entityId: owner });
      }
    });
  }

  async function left(): Promise<number> {
    const [row] = await foreign.all<{ count: number }>('SELECT count(*) AS "count" FROM "claims"');
    return Number(row?.count);
  }

  /** Keeps leftovers as if the process had ended before deleting them. */
  function keepLeftovers(): void {
    jest.spyOn(Leftovers.prototype, 'deleteChunk').mockImplementation(() => sleep(20));
  }

  function remove(): Promise<Answer> {
    return send(app, 'DELETE', `/api/v1/entities/${entityId}`);
  }

  async function verification(): Promise<Parsed> {
    return (await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } })).body;
  }

  /** Expects that no claim is visible, whatever is left in the table. */
  async function everythingIsValid(): Promise<void> {
    const { entities, claims } = (await send(app, 'GET', '/api/v1/stats')).body;
    expect(claims).toBe(0);
    expect(await verification()).toMatchObject({
      ...{ valid: true, recordsVerified: entities },
      ...{ firstInvalidRecords: [], firstInvalidDerived: [] },
    });
  }

  it('takes effect immediately, as one change with one entry', async () => {
    keepLeftovers();
    expect((await remove()).status).toBe(204);
    expect(await left()).toBe(CLAIMS + 1 - 1_000);
    for (const path of ['', '/claims', `/claims/${claimId}`]) {
      expect((await send(app, 'GET', `/api/v1/entities/${entityId}${path}`)).status).toBe(404);
    }
    expect((await send(app, 'DELETE', `/api/v1/entities/${entityId}/claims/${claimId}`)).status).toBe(404);
    expect((await remove()).status).toBe(404);
    await everythingIsValid();
    const entries = await auditOf(app, entityId);
    expect(entries.map(({ action, details }) => [action, details])).toEqual([
      ['entity.created', {}],
      ['entity.deleted', { claims: CLAIMS + 1 }],
    ]);
    jest.restoreAllMocks();
    while ((await left()) > 0) await sleep(20);
    await everythingIsValid();
  });

  itOnSqlite('is valid for the offline verifier while rows are left', async () => {
    keepLeftovers();
    await remove();
    const path = (app.application.get(Configuration).database as { path: string }).path;
    expect(await runVerifier([path])).toMatchObject({ exitCode: 0 });
  });

  it('does not block writes while the rows are deleted', async () => {
    await remove();
    const leftAt: number[] = [];
    while ((leftAt.at(-1) ?? 1) > 0) {
      await createEntity(app);
      leftAt.push(await left());
    }
    expect(leftAt.filter((rows) => rows > 0).length).toBeGreaterThan(1);
    await everythingIsValid();
    expect(await foreign.all('SELECT * FROM "ledger_leftovers"')).toEqual([]);
  });

  it('is completed by the next start', async () => {
    keepLeftovers();
    await remove();
    await foreign.close();
    await app.close();
    jest.restoreAllMocks();
    app = await createTestApp({ environment: database.environment });
    foreign = await foreignConnection(app);
    while ((await left()) > 0) await sleep(20);
    expect(await foreign.all('SELECT * FROM "ledger_leftovers"')).toEqual([]);
  });

  it('has deleted the claims of an erased one before nothing says any more that it is being erased', async () => {
    const deleteChunk = Reflect.get(Leftovers.prototype, 'deleteChunk');
    /** After each chunk: what entries still have to be emptied of, and claims. */
    const after: { erasing: number; claims: number }[] = [];
    jest.spyOn(Leftovers.prototype, 'deleteChunk').mockImplementation(async function (this: Leftovers, connection) {
      await deleteChunk.call(this, connection);
      const erasing = await foreign.all(`SELECT 1 FROM "ledger_leftovers" WHERE "subjectType" LIKE 'erased %'`);
      after.push({ erasing: erasing.length, claims: await left() });
    });
    await erase(app, { type: 'entity', id: entityId });
    // Whichever process comes next finds the erasure under way, and completes it, by what says so.
    expect(after.filter(({ erasing, claims }) => erasing === 0 && claims > 0)).toEqual([]);
    expect(after.at(-1)).toEqual({ erasing: 0, claims: 0 });
  });

  it('deletes nothing of an entity that exists, even if a note claims its removal', async () => {
    const other = (await createEntity(app)).id;
    await addClaims(other);
    await foreign.run(`INSERT INTO "ledger_leftovers" ("subjectType", "ownerId") VALUES ('claim', $1)`, [other]);
    await remove();
    while ((await left()) > COMMAND) await sleep(20);
    for (let count = 0; count < 3; count += 1) await createEntity(app);
    expect(await left()).toBe(COMMAND);
    expect((await verification()).firstInvalidDerived).toEqual([{ data: 'counter', name: 'claims' }]);
  });

  it('lets verification find a claim that was reinserted afterwards', async () => {
    await foreign.run('CREATE TEMP TABLE kept AS SELECT * FROM "claims" WHERE "id" = $1', [claimId]);
    await remove();
    while ((await left()) > 0) await sleep(20);
    await foreign.run('INSERT INTO "claims" SELECT * FROM kept');
    expect((await verification()).firstInvalidRecords).toEqual([
      { subjectType: 'claim', subjectId: claimId, fault: 'added' },
    ]);
  });
});
