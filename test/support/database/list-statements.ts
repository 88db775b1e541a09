import { Database } from '../../../src/ledger/database/database';
import type { SqlValue } from '../../../src/ledger/database/sql-connection';
import type { TestApp } from '../application/create-test-app';

type Statement = [sql: string, parameters: readonly SqlValue[]];

/** The statements that a request runs on the connection of the lists. */
export async function listStatements(app: TestApp, request: () => Promise<unknown>): Promise<Statement[]> {
  const { lists } = app.application.get(Database);
  const statements: Statement[] = [];
  const all = lists.all.bind(lists);
  const spy = jest.spyOn(lists, 'all').mockImplementation((sql, parameters = []) => {
    if (!isOfTheService(sql, parameters)) statements.push([sql, parameters]);
    return all(sql, parameters);
  });
  await request();
  spy.mockRestore();
  return statements;
}

/** Statements that the service runs by itself: for interrupted and unreported executions, leases and webhooks. */
function isOfTheService(sql: string, parameters: readonly SqlValue[]): boolean {
  return parameters.includes('running') || /"via" IS NOT NULL|process_leases|webhook/.test(sql);
}
