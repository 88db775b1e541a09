import { API_KEY } from '../../src/governance/api-keys/api-key.entity';
import { Database } from '../../src/ledger/database/database';
import type { SqlConnection, SqlValue } from '../../src/ledger/database/sql-connection';
import { RecordCatalog } from '../../src/ledger/records/record-catalog';
import {
  lastPlaceSql,
  liveRecordsSql,
  missingRecordsSql,
  removedAmongSql,
} from '../../src/evidence/verification/state-reader';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { issueKey } from '../support/application/factories';
import { onPostgres } from '../support/database/database-kind';
import { foreignConnection } from '../support/database/foreign-connection';
import { nodesOf, planIn } from '../support/database/postgres-plan';

/** The index of the entries that say something about their subject. */
const INDEX = onPostgres
  ? `SELECT indexname AS "name" FROM pg_indexes WHERE indexdef LIKE '%access.denied%'`
  : `SELECT "name" FROM "sqlite_master" WHERE "type" = 'index' AND "sql" LIKE '%access.denied%'`;

describe('The last entry about a key, whose holder may have been refused a million times since,', () => {
  let app: TestApp;
  let foreign: SqlConnection;

  beforeAll(async () => {
    app = await createTestApp();
    await issueKey(app);
    foreign = await foreignConnection(app);
    // So few rows would be read without an index.
    if (onPostgres) await foreign.run('SET enable_seqscan = off');
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  async function usedIndexes(sql: string, parameters: readonly SqlValue[]): Promise<string[]> {
    if (onPostgres) return nodesOf(await planIn(foreign, sql, parameters)).map((node) => String(node['Index Name']));
    const steps = await foreign.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, parameters);
    return steps.map(({ detail }) => / INDEX (\w+)/.exec(detail)?.[1] ?? '');
  }

  it.each(['live records', 'missing records', 'removed records'])(
    'is found without reading those refusals when a verification looks for %s',
    async (what) => {
      const { dialect } = app.application.get(Database);
      const codec = app.application.get(RecordCatalog, { strict: false }).codec(API_KEY);
      const [end] = await foreign.all<{ last: string }>(lastPlaceSql(codec, dialect));
      const statements: Readonly<Record<string, [sql: string, parameters: readonly SqlValue[]]>> = {
        'live records': [liveRecordsSql(codec, null, dialect), [null, end?.last ?? null, 10]],
        'missing records': [missingRecordsSql([codec]), [0, 10]],
        'removed records': [removedAmongSql(dialect), ['[["agk_a"]]']],
      };
      const [made] = await foreign.all<{ name: string }>(INDEX);
      const [sql, parameters] = statements[what] ?? ['', []];
      expect(await usedIndexes(sql, parameters)).toContain(made?.name);
    },
  );
});
