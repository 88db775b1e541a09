import { EventEmitter, once } from 'node:events';
import { DatabaseFault } from '../../../src/ledger/database/database-fault';
import { PostgresConnection } from '../../../src/ledger/database/postgres/postgres-connection';
import type { SqlConnection, SqlValue } from '../../../src/ledger/database/sql-connection';

/** A commit that has taken effect, but whose session has yet to get the answer. */
export interface UnansweredCommit {
  /** Resolves once it has taken effect. */
  readonly done: Promise<unknown>;
  answer(): unknown;
  /** Ends the session instead, which never learns of it. */
  lose(): unknown;
}

/** Of the next COMMIT of any session. */
export function withholdAnswer(): UnansweredCommit {
  const steps = new EventEmitter();
  const done = once(steps, 'done');
  const answered = once(steps, 'answered');
  const spy = jest.spyOn(PostgresConnection.prototype, 'run');
  spy.mockImplementation(async function (this: SqlConnection, sql: string, parameters?: readonly SqlValue[]) {
    if (sql === 'COMMIT') spy.mockRestore();
    await this.all(sql, parameters);
    if (sql !== 'COMMIT') return;
    steps.emit('done');
    await answered;
  });
  return {
    done,
    answer: () => steps.emit('answered'),
    lose: () =>
      steps.emit('error', new DatabaseFault('unavailable', 'CONNECTION', 'Connection terminated unexpectedly')),
  };
}
