import { Injectable, Logger, Module } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../../../src/ledger/database/database';
import { ActionHandler } from '../../../src/governance/executions/handlers/action-handlers';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { onServer } from '../../support/database/database-server';
import { auditOf, createAgent, createPolicy } from '../../support/application/factories';
import { lapse } from '../../support/database/leases';
import { type Parsed, send } from '../../support/application/send';
import { openDatabaseGate } from '../../support/application/tcp-gate';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';

/** Ends the running handler; null while none runs. */
let release: (() => void) | null = null;

@Injectable()
class Actions {
  @ActionHandler('wait')
  wait(): Promise<void> {
    return new Promise((resolve) => {
      release = () => {
        release = null;
        resolve();
      };
    });
  }
}

@Module({ providers: [Actions] })
class ActionsModule {}

/** Milliseconds: twelve times the interval of the search for interrupted executions. */
const PATIENCE = 60_000;

describe('Processes of one database', () => {
  let database: TemporaryDatabase;
  let first: TestApp;
  let second: TestApp;

  beforeAll(async () => {
    database = await temporaryDatabase();
    const options = { environment: { ...database.environment, LOG_LEVEL: 'fatal' }, modules: [ActionsModule] };
    first = await createTestApp(options);
    second = await createTestApp(options);
  });
  afterAll(async () => {
    await second.close();
    await database.remove();
  });

  const databaseOf = (app: TestApp): Database => app.application.get(Database);

  it('keep an execution as it was marked if its handler ends after all, and log that', async () => {
    const error = jest.spyOn(Logger.prototype, 'error');
    const agent = await createAgent(first, { name: 'slow', capabilities: ['wait'] });
    await createPolicy(first, { actions: ['wait'] });
    const body = { action: 'wait', resourceType: 'document', resourceId: 'a' };
    const answer = send(first, 'POST', `/api/v1/agents/${agent.id}/execute`, { body });
    while (release === null) await sleep(5);
    const mistaken = jest.spyOn(databaseOf(second), 'findEndedProcesses').mockImplementation(async (ids) => ids);
    let interrupted;
    for (const deadline = Date.now() + PATIENCE; interrupted === undefined && Date.now() < deadline;) {
      await sleep(200);
      [interrupted] = (await send(first, 'GET', '/api/v1/executions?outcome=interrupted')).body.data;
    }
    mistaken.mockRestore();
    release();
    expect((await answer).body).toEqual(interrupted);
    expect(error.mock.calls.map(([context, line]) => [context, line])).toContainEqual([
      { executionId: interrupted.id, ended: 'executed' },
      expect.stringContaining('marked the execution as interrupted'),
    ]);
    const entries = await auditOf(second, interrupted.id);
    expect(entries.map(({ action }) => action)).toEqual(['execution.authorized', 'execution.interrupted']);
    error.mockRestore();
  });

  it('renew their leases while an execution runs, without an entry', async () => {
    // The second process renews its lease, so that its next renewal is ten seconds away from the tests below.
    const { DATABASE_URL } = database.environment;
    const body = { action: 'wait', resourceType: 'document', resourceId: 'b' };
    const answer = send(second, 'POST', '/api/v1/agents/slow/execute', { body });
    while (release === null) await sleep(5);
    const entries = async (): Promise<number> => (await send(second, 'GET', '/api/v1/stats')).body.provenanceEntries;
    const lease = `SELECT "until" FROM "process_leases" WHERE "id" = '${databaseOf(second).processId}'`;
    const [before, until] = [await entries(), await onServer(lease, DATABASE_URL)];
    const isRenewed = async (): Promise<boolean> =>
      (await onServer(lease, DATABASE_URL))[0]?.['until'] !== until[0]?.['until'];
    for (const deadline = Date.now() + PATIENCE; !(await isRenewed()) && Date.now() < deadline;) await sleep(500);
    expect(await isRenewed()).toBe(true);
    expect(await entries()).toBe(before);
    release();
    expect((await answer).body.outcome).toBe('executed');
    expect(await entries()).toBe(before + 1);
  });

  it('regard one that holds its lease as running, and one that stopped as ended', async () => {
    const [{ processId }, other] = [databaseOf(first), databaseOf(second)];
    expect(await other.findEndedProcesses([processId])).toEqual([]);
    await first.close();
    expect(await other.findEndedProcesses([processId, other.processId])).toEqual([processId]);
  });

  it('regard another as ended if its lease has lapsed and they have held their own for a while', async () => {
    const { DATABASE_URL } = database.environment;
    const other = databaseOf(second);
    await onServer(
      `INSERT INTO "process_leases" VALUES ('absent', 0, extract(epoch FROM now()) * 1000 + 5000)`,
      DATABASE_URL,
    );
    await lapse(DATABASE_URL, []);
    expect(await other.findEndedProcesses(['absent'])).toEqual([]);
    await lapse(DATABASE_URL, ['absent']);
    expect(await other.findEndedProcesses(['absent'])).toEqual(['absent']);
    // As after an outage of the server: no process has renewed its lease.
    await lapse(DATABASE_URL, [other.processId]);
    expect(await other.findEndedProcesses(['absent'])).toEqual([]);
    expect(await other.findEndedProcesses([other.processId])).toEqual([]);
  });
});

describe('A process that is cut off from the database for 15 seconds', () => {
  it('keeps the executions it runs', async () => {
    const database = await temporaryDatabase();
    const { gate, url } = await openDatabaseGate(database.environment.DATABASE_URL);
    const environment = { ...database.environment, LOG_LEVEL: 'fatal' };
    const runner = await createTestApp({
      environment: { ...environment, DATABASE_URL: url },
      modules: [ActionsModule],
    });
    const other = await createTestApp({ environment });
    const agent = await createAgent(other, { name: 'slow', capabilities: ['wait'] });
    await createPolicy(other, { actions: ['wait'] });
    const body = { action: 'wait', resourceType: 'document', resourceId: 'a' };
    const answer = send(runner, 'POST', `/api/v1/agents/${agent.id}/execute`, { body });
    const outcomes = async (): Promise<string[]> =>
      (await send(other, 'GET', '/api/v1/executions')).body.data.map(({ outcome }: Parsed) => outcome);
    while (release === null) await sleep(50);
    gate.cut();
    await sleep(15_000);
    expect(await outcomes()).toEqual(['running']);
    gate.open();
    while ((await send(runner, 'GET', '/api/v1/health')).status !== 200) await sleep(50);
    release();
    expect((await answer).body.outcome).toBe('executed');
    expect(await outcomes()).toEqual(['executed']);
    await Promise.all([runner.close(), other.close()]);
    await gate.close();
    await database.remove();
  });
});
