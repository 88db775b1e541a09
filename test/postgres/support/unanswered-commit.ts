import { EventEmitter, once } from 'node:events';
import { DatabaseFault } from '../../../src/ledger/database/database-fault';
import { PostgresConnection } from '../../../src/ledger/database/postgres/postgres-connection';
import type { SqlConnection } from '../../../src/ledger/database/sql-connection';

/** A commit that has taken effect, but whose session has yet to get the answer. */
export interface UnansweredCommit {
  /** Resolves once it has taken effect. */
  readonly done: Promise<unknown>;
  answer(): unknown;
  /** Ends the session instead, which never learns of it. */
  lose(): unknown;
}

/** Withholds the answer to the next COMMIT of any session. */
export function withholdAnswer(): UnansweredCommit {
  const steps = new EventEmitter();
  const done = once(steps, 'done');
  const acknowledgement = once(steps, 'answered');
  const spy = jest.spyOn(PostgresConnection.prototype, 'commit');
  spy.mockImplementation(async function (this: SqlConnection) {
    spy.mockRestore();
    await this.commit();
    steps.emit('done');
    await acknowledgement;
  });
  return {
    done,
    answer: () => steps.emit('answered'),
    lose: () =>
      steps.emit('error', new DatabaseFault('unavailable', 'CONNECTION', 'Connection terminated unexpectedly')),
  };
}
