import { setTimeout as sleep } from 'node:timers/promises';
import { isFault } from '../../src/ledger/database/database-fault';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import { History } from './support/history';
import { falseHealth } from './support/ledger-faults';
import { Load } from './support/load';
import type { ServedDatabase } from './support/served-database';
import { temporaryService } from './support/temporary-service';
import { until, untilHealthy, watch } from './support/watch';

const CLIENTS = 8;

describe('Another process that holds the write lock of the database', () => {
  let served: ServedDatabase;
  let foreign: SqlConnection;

  beforeEach(async () => {
    served = await temporaryService();
    await served.start();
    foreign = await SqliteConnection.open(served.path, 'write');
  });
  afterEach(async () => {
    await foreign.close();
    await served.remove();
  });

  it('makes writes 503 while reads continue; once it releases the lock the service recovers', async () => {
    const history = new History();
    const load = new Load('lock', history);
    await load.prepare(served.url);
    for (const isWriting of [false, true]) {
      const stopped = new AbortController();
      const clients = [load.run(served.url, CLIENTS, stopped.signal), watch(served.url, history, stopped.signal)];
      await sleep(300);
      await until('the lock is free', () => hasLocked(foreign));
      // Writes of a transaction that is rolled back must not be visible either.
      if (isWriting) await foreign.run(`UPDATE entities SET name = 'not ours'`);
      const from = performance.now();
      await until('writes are refused', () => (history.statuses(from)[503] ?? 0) > CLIENTS);
      await sleep(500);
      expect(falseHealth(history, from, performance.now())).toBe(0);
      await foreign.run('ROLLBACK');
      await untilHealthy(served.url, history);
      const healed = history.acknowledged;
      await until('writes go on', () => history.acknowledged > healed + 10);
      stopped.abort();
      await Promise.all(clients);
      expect([...history.reads.keys()]).toEqual([200]);
      expect(await served.faults(history)).toEqual([]);
    }
  });
});

/** Takes the lock, unless the service has it for as long as SQLite waits. */
async function hasLocked(connection: SqlConnection): Promise<boolean> {
  try {
    await connection.run('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (isFault(error, 'busy', 'unavailable')) return false;
    throw error;
  }
}
