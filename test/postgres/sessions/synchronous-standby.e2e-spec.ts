import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { onServer } from '../../support/database/database-server';
import { chainIsValid, createEntity } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeWithPostgresCluster, postgresCluster, type PostgresCluster } from '../support/postgres-cluster';

const WAITING = `FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'agent-governance'`;
/** Milliseconds without an answer. */
const SILENCE_MS = 3_000;
/** Milliseconds after which the service gives up other statements, and has asked the server about this one twice. */
const MAX_ANSWER_MS = 19_500;

describeWithPostgresCluster('While the synchronous standby is down, a write', () => {
  let folder: string;
  let primary: PostgresCluster;
  let standby: PostgresCluster;
  let app: TestApp;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'governance-synchronous-'));
    primary = await postgresCluster();
    standby = await primary.standby();
    const environment = { DATABASE_URL: primary.url, CHECKPOINT_FOLDER: folder, LOG_LEVEL: 'fatal' };
    app = await createTestApp({ environment });
    await primary.set('synchronous_standby_names', '*');
    await createEntity(app);
  });
  afterAll(async () => {
    await app.close();
    [standby, primary].forEach((cluster) => cluster.remove());
    rmSync(folder, { recursive: true, force: true });
  });

  it('that waits for it is not given up', async () => {
    standby.stopHard();
    const answer = createEntity(app);
    const waiting = (): ReturnType<typeof onServer> => onServer(`SELECT pid ${WAITING}`, primary.url);
    while ((await waiting()).length === 0) await sleep(50);
    const before = await waiting();
    await sleep(MAX_ANSWER_MS);
    expect(await waiting()).toEqual(before);
    standby.start();
    await answer;
  });

  it.each<[what: string, fault: () => unknown]>([
    // Longer than any statement may take.
    ['for long', () => sleep(11_000)],
    ['and its wait is cancelled', () => onServer(`SELECT pg_cancel_backend(pid) ${WAITING}`, primary.url)],
    ['and its session is ended', () => onServer(`SELECT pg_terminate_backend(pid) ${WAITING}`, primary.url)],
    [
      'and its server starts again',
      () => {
        primary.stopHard();
        primary.start();
      },
    ],
  ])('that waits for it %s is answered once the standby has it', async (_what, fault) => {
    standby.stopHard();
    let status = 0;
    const answer = send(app, 'POST', '/api/v1/entities', { body: { type: 'service', name: 'gateway' } });
    void answer.then((response) => (status = response.status));
    while ((await onServer(`SELECT pid ${WAITING}`, primary.url)).length === 0) await sleep(50);
    await fault();
    await sleep(SILENCE_MS);
    expect(status).toBe(0);
    standby.start();
    const { status: finalStatus, body } = await answer;
    expect(finalStatus).toBe(201);
    const onStandby = `SELECT "id" FROM "entities" WHERE "id" = '${body.id}'`;
    // The standby has it on disk, and shows it a moment later.
    while ((await onServer(onStandby, standby.url)).length === 0) await sleep(50);
    await chainIsValid(app);
  });
});
