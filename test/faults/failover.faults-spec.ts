import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresConnection } from '../../src/ledger/database/postgres/postgres-connection';
import { serverConfig } from '../../src/ledger/database/postgres/postgres-settings';
import {
  describeWithPostgresCluster,
  postgresCluster,
  type PostgresCluster,
} from '../postgres/support/postgres-cluster';
import { endSessions, replayed } from '../postgres/support/sessions';
import { onServer } from '../support/database/database-server';
import { openTcpGate, type TcpGate } from '../support/application/tcp-gate';
import { History } from './support/history';
import { Load } from './support/load';
import { PolicyTurns } from './support/policy-turns';
import { ServedDatabase } from './support/served-database';
import { until, untilHealthy, watch } from './support/watch';

/** Clients of each replica. */
const CLIENTS = 3;
const SIGNING_KEY = Buffer.alloc(32, 'failover').toString('base64');
/** Milliseconds. */
const PATIENCE = 40_000;
const FLAP = 1_500;

const SELECT_APPLIED = 'SELECT pg_last_wal_replay_lsn() AS "place"';
const SELECT_HEAD = 'SELECT "sequence", "hash" FROM "ledger_head"';
const WAITING = `SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'agent-governance'`;
const SYNCHRONOUS = `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`;

/** A standby applies what it received before it stopped when it starts again, with or without a primary. */
async function hasAppliedAll(standby: Pick<PostgresCluster, 'url'>): Promise<void> {
  let before: unknown = null;
  await until('the standby has applied what it has', async () => {
    const [{ place } = {}] = await onServer(SELECT_APPLIED, standby.url);
    const isSame = place === before;
    before = place;
    if (!isSame) await sleep(500);
    return isSame;
  });
}

describeWithPostgresCluster('Two replicas under load, behind a name that leads to the primary,', () => {
  let folder: string;
  let primary: PostgresCluster;
  let standby: PostgresCluster;
  let gate: TcpGate;
  let replicas: ServedDatabase[];
  const history = new History();
  const load = new Load('failover', history);
  let turns: PolicyTurns;
  let urls: readonly string[];
  let stopped = new AbortController();
  let clients: Promise<unknown> = Promise.resolve();
  let turnsStopped = new AbortController();
  let turning: Promise<void> = Promise.resolve();

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'governance-failover-'));
    primary = await postgresCluster();
    standby = await primary.standby();
    gate = await openTcpGate('127.0.0.1', primary.port);
    const url = new URL(primary.url);
    url.port = String(gate.port);
    replicas = ['one', 'other'].map((name) => {
      const CHECKPOINT_FOLDER = join(folder, name);
      mkdirSync(CHECKPOINT_FOLDER);
      const connect = (): Promise<PostgresConnection> => PostgresConnection.open(serverConfig(url.href));
      return new ServedDatabase('', {
        environment: { DATABASE_URL: url.href, SIGNING_KEY, CHECKPOINT_FOLDER },
        connect,
      });
    });
    for (const replica of replicas) await replica.start();
    urls = replicas.map((replica) => replica.url);
    turns = new PolicyTurns(history, urls);
    await load.prepare(urls[0] ?? '');
    await turns.prepare();
  });
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop('SIGKILL')));
    await gate.close();
    [standby, primary].forEach((cluster) => cluster.remove());
    rmSync(folder, { recursive: true, force: true });
  });

  beforeEach(() => {
    stopped = new AbortController();
    const { signal } = stopped;
    clients = Promise.all(urls.flatMap((url) => [load.run(url, CLIENTS, signal), watch(url, history, signal)]));
    startTurns();
  });
  afterEach(async () => {
    stopped.abort();
    await Promise.all([clients, stopTurns()]);
  });

  function startTurns(): void {
    turnsStopped = new AbortController();
    turning = turns.run(turnsStopped.signal);
  }

  async function stopTurns(): Promise<void> {
    turnsStopped.abort();
    await turning;
  }

  async function isSynchronous(on: boolean): Promise<void> {
    await primary.set('synchronous_standby_names', on ? '*' : '');
    if (on)
      await until('the standby is synchronous', async () => (await onServer(SYNCHRONOUS, primary.url)).length > 0);
  }

  /** Waits until both replicas acknowledge writes, without a restart. */
  async function writesGoOn(): Promise<void> {
    for (const url of urls) await untilHealthy(url, history, PATIENCE);
    const healed = history.acknowledged;
    await until('writes go on', () => history.acknowledged > healed + 40, PATIENCE);
  }

  /** The standby takes over, and the name leads to it. The previous primary is down. */
  function takeOver(): void {
    standby.promote();
    [primary, standby] = [standby, primary];
    gate.aim(primary.port);
  }

  /** Recreates the replaced server from the one that took over, as its standby. */
  async function newStandby(): Promise<void> {
    standby.remove();
    standby = await primary.standby();
  }

  async function expectNothingLost(seenBy: ServedDatabase | undefined): Promise<void> {
    stopped.abort();
    await Promise.all([clients, stopTurns()]);
    expect(turns.stale).toEqual([]);
    expect([...turns.statuses.keys()].filter((status) => ![200, 403, 503].includes(status))).toEqual([]);
    expect(await seenBy?.faults(history)).toEqual([]);
  }

  it('lose no acknowledged write, and authorise nothing by outdated policies, when a synchronous standby takes over, and back', async () => {
    await isSynchronous(true);
    await writesGoOn();
    primary.stopHard();
    takeOver();
    await writesGoOn();
    // The replaced server comes back, and the name leads there now and then.
    standby.start();
    const left = await onServer(SELECT_HEAD, standby.url);
    await stopTurns();
    await turns.take('deny');
    gate.aim(standby.port);
    for (const sessions of ['readers', 'all'] as const) {
      await endSessions(primary, sessions);
      for (const end = Date.now() + FLAP; Date.now() < end;) await turns.look();
    }
    expect(await onServer(SELECT_HEAD, standby.url)).toEqual(left);
    gate.aim(primary.port);
    startTurns();
    await newStandby();
    await isSynchronous(true);
    await writesGoOn();
    primary.stopHard();
    takeOver();
    await writesGoOn();
    await expectNothingLost(replicas[0]);
  });

  it('acknowledge only what the synchronous standby has, so nothing is lost when one that lagged takes over', async () => {
    await newStandby();
    await isSynchronous(true);
    await writesGoOn();
    standby.stopHard();
    await until('a commit waits for it', async () => (await onServer(WAITING, primary.url)).length > 0);
    // Answers to earlier commits are still on their way to the clients.
    await sleep(FLAP);
    const { acknowledged } = history;
    await sleep(FLAP);
    expect(history.acknowledged).toBe(acknowledged);
    primary.stopHard();
    standby.start();
    takeOver();
    await writesGoOn();
    await expectNothingLost(replicas[1]);
  });

  it('end, and authorise nothing by outdated policies, when one takes over that lagged and was not synchronous', async () => {
    await newStandby();
    await writesGoOn();
    await stopTurns();
    await turns.take('allow');
    await replayed(primary, standby);
    standby.stopHard();
    await writesGoOn();
    await turns.take('deny');
    await turns.look();
    primary.stopHard();
    const failed = performance.now();
    standby.start();
    await hasAppliedAll(standby);
    const left = await onServer(SELECT_HEAD, standby.url);
    const ended = new AbortController();
    const ends = Promise.all(replicas.map((replica) => replica.ended())).finally(() => ended.abort());
    takeOver();
    while (!ended.signal.aborted && turns.stale.length === 0) {
      await turns.look();
      await sleep(20);
    }
    expect(turns.stale).toEqual([]);
    expect(await ends).toEqual([65, 65]);
    await clients;
    const done = Object.keys(history.statuses(failed)).filter((status) => /^(2|403)/.test(status));
    expect(done).toEqual([]);
    expect(await onServer(SELECT_HEAD, primary.url)).toEqual(left);
    for (const replica of replicas) expect((await replica.startOrEnd())?.exitCode).toBe(65);
  });
});
