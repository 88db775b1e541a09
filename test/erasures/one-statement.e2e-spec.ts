import { ActionsModule } from '../support/application/actions.module';
import { createTestApp } from '../support/application/create-test-app';
import { createEntity } from '../support/application/factories';
import { doEverything, EVERY_ACTION_ENVIRONMENT } from '../support/requests/every-action';
import { erase } from '../support/application/erase';
import { describeOnSqlite } from '../support/database/database-kind';
import { foreignConnection } from '../support/database/foreign-connection';
import { PostgresConnection } from '../../src/ledger/database/postgres/postgres-connection';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import type { SqlConnection, SqlStatement } from '../../src/ledger/database/sql-connection';
import { SELECT_ERASED } from '../../src/ledger/writing/leftover-statements';

const CHANGES_ENTRIES = /(UPDATE|DELETE FROM|REPLACE INTO|TRUNCATE|DROP TABLE|ALTER TABLE) *"?ledger_entries/i;

describe('The statements of a running service', () => {
  it('change entries by one statement alone, which takes what was erased', async () => {
    const environment = { ...EVERY_ACTION_ENVIRONMENT, RETAIN_AT_LEAST: 'PT0S' };
    const app = await createTestApp({ modules: [ActionsModule], environment });
    const seen = new Set<string>();
    const spies = [SqliteConnection.prototype, PostgresConnection.prototype].flatMap((prototype: SqlConnection) =>
      (['run', 'all', 'runAll'] as const).map((name) => {
        const method = Reflect.get(prototype, name) as (...parameters: unknown[]) => never;
        return jest.spyOn(prototype, name).mockImplementation(function (this: SqlConnection, ...parameters: unknown[]) {
          const [first] = parameters as [string | readonly SqlStatement[]];
          for (const sql of typeof first === 'string' ? [first] : first.map((statement) => statement.sql))
            seen.add(sql);
          return method.apply(this, parameters);
        });
      }),
    );
    await doEverything(app);
    const { id } = await createEntity(app);
    await erase(app, { type: 'entity', id });
    await app.close();
    for (const spy of spies) spy.mockRestore();
    expect(seen.size).toBeGreaterThan(50);
    const changing = [...seen].filter((sql) => CHANGES_ENTRIES.test(sql));
    expect(changing).toHaveLength(1);
    expect(changing[0]).toMatch(
      /^UPDATE "ledger_entries" SET "details" = 'null', .* "erased" = \(SELECT min.* WHERE "sequence" IN /,
    );
  });
});

describeOnSqlite('The search for what is still to be taken', () => {
  it('reads no entry of another record', async () => {
    const app = await createTestApp();
    const foreign = await foreignConnection(app);
    const plan = await foreign.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${SELECT_ERASED}`);
    expect(plan.filter(({ detail }) => detail.startsWith('SCAN')).map(({ detail }) => detail)).toEqual([
      'SCAN leftover',
    ]);
    await foreign.close();
    await app.close();
  });
});
