import { Database } from '../../../src/ledger/database/database';
import type { SqlConnection } from '../../../src/ledger/database/sql-connection';
import { RecordCatalog } from '../../../src/ledger/records/record-catalog';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { nodesOf, planIn } from '../../support/database/postgres-plan';

describe('A look-up by keys on PostgreSQL', () => {
  let app: TestApp;
  let writer: SqlConnection;

  beforeAll(async () => {
    app = await createTestApp();
    writer = await app.application.get(Database).openWriter(() => Promise.resolve());
  });
  afterAll(async () => {
    await writer.close();
    await app.close();
  });

  it.each(['of a batch', 'of a request'])(
    '%s is planned to use an index even while the tables are empty, since plans are kept',
    async (whose) => {
      const session = whose === 'of a batch' ? writer : app.application.get(Database).points;
      const codecs = [...app.application.get(RecordCatalog, { strict: false }).all];
      expect(codecs.length).toBeGreaterThan(5);
      for (const codec of codecs) {
        const nodes = nodesOf(await planIn(session, codec.selectAmong(['id']), ['[["some"]]']));
        expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
        expect(nodes.some((node) => node['Index Name'] !== undefined)).toBe(true);
      }
    },
  );
});
