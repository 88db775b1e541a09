import { Database } from '../../../src/ledger/database/database';
import type { SqlSessions, SqlValue } from '../../../src/ledger/database/sql-connection';
import type { TestApp } from '../application/create-test-app';

type Statement = [sql: string, parameters: readonly SqlValue[]];

/** Waits for the statement with which the service searches for decisions that are due, and returns it. */
export function lookForDueDecisions(app: TestApp): Promise<Statement> {
  const database = app.application.get(Database);
  const sessions: SqlSessions[] = [database.points, database.lists];
  return new Promise((resolve) => {
    const spies = sessions.map((session) => {
      const all = session.all.bind(session);
      return jest.spyOn(session, 'all').mockImplementation((sql, parameters = []) => {
        if (sql.includes('"expiresAt"') && parameters.some(isTime)) {
          spies.forEach((spy) => spy.mockRestore());
          resolve([sql, parameters]);
        }
        return all(sql, parameters);
      });
    });
  });
}

function isTime(value: SqlValue): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value);
}
