import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresConnection } from '../../src/ledger/database/postgres/postgres-connection';
import { serverConfig } from '../../src/ledger/database/postgres/postgres-settings';
import { onServer } from '../support/database/database-server';
import { openDatabaseGate, type TcpGate } from '../support/application/tcp-gate';
import { History } from './support/history';
import { Load } from './support/load';
import {
  describeWithPostgresCluster,
  postgresCluster,
  type PostgresCluster,
} from '../postgres/support/postgres-cluster';
import { randomFor } from './support/random';
import { ROUNDS } from './support/rounds';
import { ServedDatabase } from './support/served-database';
import { until, untilHealthy, watch } from './support/watch';

const CLIENTS = 8;
/** Without this setting, every process would generate its own. */
const SIGNING_KEY = Buffer.alloc(32, 'faults').toString('base64');
/** Milliseconds: longer than any request waits for an answer. */
const PATIENCE = 40_000;

describeWithPostgresCluster('On PostgreSQL', () => {
  let cluster: PostgresCluster;
  let gate: TcpGate;
  let served: ServedDatabase;
  const history = new History();
  const load = new Load('postgres', history);
  let stopped = new AbortController();
  let clients: Promise<unknown> = Promise.resolve();

  beforeAll(async () => {
    cluster = await postgresCluster();
    const opened = await openDatabaseGate(cluster.url);
    gate = opened.gate;
    const connect = (): Promise<PostgresConnection> => PostgresConnection.open(serverConfig(cluster.url));
    served = new ServedDatabase('', { environment: { DATABASE_URL: opened.url, SIGNING_KEY }, connect });
    await served.start();
    await load.prepare(served.url);
  });
  afterAll(async () => {
    await served.stop('SIGKILL');
    await gate.close();
    cluster.remove();
  });

  beforeEach(() => {
    stopped = new AbortController();
    clients = Promise.all([load.run(served.url, CLIENTS, stopped.signal), watch(served.url, history, stopped.signal)]);
  });
  /** The service recovers by itself, writes continue, and the ledger agrees with what its clients saw. */
  afterEach(async () => {
    try {
      await untilHealthy(served.url, history, PATIENCE);
      const healed = history.acknowledged;
      await until('writes go on', () => history.acknowledged > healed + 10, PATIENCE);
    } finally {
      stopped.abort();
      await clients;
    }
    expect(await served.faults(history)).toEqual([]);
  });

  /** Once it has reported itself unhealthy, it stays so until the fault is over. */
  async function expectToReport(fault: () => void): Promise<void> {
    await sleep(300);
    const before = history.sightings.length;
    fault();
    const reported = (): number[] => history.sightings.slice(before).map(({ status }) => status);
    await until('the service says that it is unhealthy', () => reported().includes(503), PATIENCE);
    await sleep(1_000);
    const statuses = reported();
    expect(new Set(statuses.slice(statuses.indexOf(503)))).toEqual(new Set([503]));
  }

  it.each([1, 2])(
    'a server that stops abruptly and starts again loses nothing (%i)',
    async () => {
      await expectToReport(() => cluster.stopHard());
      cluster.start();
    },
    300_000,
  );

  it('sessions that are ended again and again lose nothing', async () => {
    const random = randomFor('sessions');
    for (let kill = 0; kill < Math.max(6, ROUNDS / 4); kill += 1) {
      await sleep(random.below(300));
      await onServer(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        cluster.url,
      );
    }
  });

  it.each(['cut', 'hold'] as const)(
    'a server that cannot be reached (%s) loses nothing',
    async (fault) => {
      await expectToReport(() => gate[fault]());
      // Packets that a broken network lost do not arrive later.
      gate.cut();
      gate.open();
    },
    300_000,
  );

  it('a slow server makes writes slow, not wrong', async () => {
    const before = history.acknowledged;
    gate.slow(120);
    await until('some writes are acknowledged', () => history.acknowledged > before + 20, PATIENCE);
    gate.slow(0);
  });

  it('a process that is killed loses nothing', async () => {
    const random = randomFor('killed on PostgreSQL');
    for (let round = 0; round < Math.max(2, ROUNDS / 10); round += 1) {
      await sleep(random.below(500));
      await served.stop('SIGKILL');
      await clients;
      await served.start();
      expect(await served.faults(history)).toEqual([]);
      clients = load.run(served.url, CLIENTS, stopped.signal);
    }
  });
});
