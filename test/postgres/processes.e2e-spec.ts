import { Injectable, Logger, Module } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../../src/database/database';
import { ActionHandler } from '../../src/executions/handlers/action-handler.decorator';
import { createTestApp, type TestApp } from '../support/create-test-app';
import { onServer } from '../support/database-server';
import { auditOf, createAgent, createPolicy } from '../support/factories';
import { send } from '../support/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/temporary-database';

let release: () => void = () => undefined;

@Injectable()
class Actions {
  @ActionHandler('wait')
  wait(): Promise<void> {
    return new Promise((resolve) => (release = resolve));
  }
}

@Module({ providers: [Actions] })
class ActionsModule {}

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

  /** Ends the session whose lock has the process's name. */
  async function endSession(processId: string): Promise<void> {
    const [high, low] = [processId.slice(0, 8), processId.slice(8)].map((part) => Number.parseInt(part, 16));
    const rows = await onServer(
      `SELECT pg_terminate_backend(pid) AS "ended" FROM pg_locks
       WHERE locktype = 'advisory' AND classid = ${high} AND objid = ${low}`,
      database.environment.DATABASE_URL,
    );
    expect(rows).toEqual([{ ended: true }]);
  }

  it('keep what one of them ran as it was marked when it ends after all, and say so', async () => {
    const error = jest.spyOn(Logger.prototype, 'error');
    const agent = await createAgent(first, { name: 'slow', capabilities: ['wait'] });
    await createPolicy(first, { actions: ['wait'] });
    const body = { action: 'wait', resourceType: 'document', resourceId: 'a' };
    const answer = send(first, 'POST', `/api/v1/agents/${agent.id}/execute`, { body });
    const mistaken = jest.spyOn(databaseOf(second), 'endedAmong').mockImplementation(async (ids) => ids);
    let interrupted;
    for (const deadline = Date.now() + 15_000; interrupted === undefined && Date.now() < deadline;) {
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

  it('see one that has lost its session as living, and one that stopped as ended', async () => {
    const { processId } = databaseOf(first);
    await endSession(processId);
    expect(await databaseOf(second).endedAmong([processId])).toEqual([]);
    await first.close();
    expect(await databaseOf(second).endedAmong([processId, databaseOf(second).processId])).toEqual([processId]);
  });
});
