import { Injectable, Module } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../../../src/ledger/database/database';
import { type ActionContext, ActionHandler } from '../../../src/governance/executions/handlers/action-handlers';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy } from '../../support/application/factories';
import { type Answer, send } from '../../support/application/send';
import { onServer } from '../../support/database/database-server';
import { foreignConnection } from '../../support/database/foreign-connection';
import { lapse } from '../../support/database/leases';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { withholdAnswer } from '../support/unanswered-commit';

/** Ends the handlers that run, by the id of their resource. */
const releases = new Map<string, () => void>();

@Injectable()
class Actions {
  @ActionHandler('wait')
  wait({ resourceId }: ActionContext): Promise<void> {
    return new Promise((resolve) => releases.set(resourceId, resolve));
  }
}

@Module({ providers: [Actions] })
class ActionsModule {}

/** Milliseconds for which a lease is not renewed: not so long that it has lapsed. */
const LONG_UNRENEWED = 50_000;

describe('A process whose lease has lapsed', () => {
  let database: TemporaryDatabase;
  let runner: TestApp;
  let other: TestApp;

  beforeAll(async () => {
    database = await temporaryDatabase();
    const options = { environment: { ...database.environment, LOG_LEVEL: 'fatal' }, modules: [ActionsModule] };
    runner = await createTestApp(options);
    other = await createTestApp(options);
    await createAgent(runner, { name: 'slow', capabilities: ['wait'] });
    await createPolicy(runner, { actions: ['wait'] });
  });
  afterAll(async () => {
    await Promise.all([runner.close(), other.close()]);
    await database.remove();
  });

  const databaseOf = (app: TestApp): Database => app.application.get(Database);

  function execute(resourceId: string): Promise<Answer> {
    const body = { action: 'wait', resourceType: 'document', resourceId };
    return send(runner, 'POST', '/api/v1/agents/slow/execute', { body });
  }

  async function outcomeOf(resourceId: string): Promise<string> {
    const path = `/api/v1/executions?resourceId=${resourceId}&limit=1`;
    return (await send(other, 'GET', path)).body.data[0].outcome;
  }

  /** Resolves soon after the runner has renewed its lease. */
  async function renewal(): Promise<void> {
    const { processId } = databaseOf(runner);
    const renewed = `"until" > (extract(epoch FROM now()) + 50) * 1000`;
    const lease = `SELECT 1 FROM "process_leases" WHERE "id" = '${processId}' AND ${renewed}`;
    while ((await onServer(lease, database.environment.DATABASE_URL)).length === 0) await sleep(50);
    await sleep(500);
  }

  /**
   * As on a server that has taken over without this lease, with a clock that is behind, once it has been renewed there.
   */
  async function renewBehind(): Promise<void> {
    const soon = '((extract(epoch FROM now()) + 30) * 1000)::bigint';
    const row = `"since" = "since" - 120000, "until" = ${soon} WHERE "id" = '${databaseOf(runner).processId}'`;
    await onServer(`UPDATE "process_leases" SET ${row}`, database.environment.DATABASE_URL);
  }

  it.each([
    ['', () => Promise.resolve()],
    [' on a server whose clock is behind', renewBehind],
  ])('keeps what it begins after renewing it%s while another is about to mark what it ran', async (_where, move) => {
    releases.clear();
    const [idBefore, idAfter] = [randomUUID(), randomUUID()];
    const before = execute(idBefore);
    while (!releases.has(idBefore)) await sleep(20);
    const slow = slowToMark(databaseOf(other));
    while (slow.looks === 0) {
      await lapse(database.environment.DATABASE_URL, [databaseOf(runner).processId]);
      await sleep(200);
    }
    await move();
    await renewal();
    const after = execute(idAfter);
    while (!releases.has(idAfter)) await sleep(20);
    slow.goOn();
    // Before the next look, everything is marked that the first look found.
    while (slow.looks < 2) await sleep(50);
    slow.end();
    expect([await outcomeOf(idBefore), await outcomeOf(idAfter)]).toEqual(['interrupted', 'running']);
    for (const release of releases.values()) release();
    expect((await before).body.outcome).toBe('interrupted');
    expect((await after).body.outcome).toBe('executed');
  });

  it('does not begin what another has marked before its commit was confirmed', async () => {
    const commit = withholdAnswer();
    const answer = execute('marked');
    await commit.done;
    while ((await outcomeOf('marked')) === 'running') {
      await lapse(database.environment.DATABASE_URL, [databaseOf(runner).processId]);
      await sleep(200);
    }
    await renewal();
    commit.lose();
    expect((await answer).body.outcome).toBe('interrupted');
    expect(releases.has('marked')).toBe(false);
  });

  it('does not begin what another may be about to mark, and says so', async () => {
    const looking = jest.spyOn(databaseOf(other), 'findEndedProcesses').mockResolvedValue([]);
    const commit = withholdAnswer();
    const answer = execute('confirmed-late');
    await commit.done;
    await lapse(database.environment.DATABASE_URL, [databaseOf(runner).processId]);
    await renewal();
    commit.answer();
    const { outcome, failureReason } = (await answer).body;
    looking.mockRestore();
    expect([outcome, failureReason]).toEqual(['failed', expect.stringContaining('was not begun')]);
    expect(releases.has('confirmed-late')).toBe(false);
  });

  it('runs nothing until it has renewed it', async () => {
    releases.clear();
    const somebody = await foreignConnection(runner);
    await somebody.run('BEGIN');
    await somebody.run(`SELECT 1 FROM "process_leases" WHERE "id" = '${databaseOf(runner).processId}' FOR UPDATE`);
    await sleep(LONG_UNRENEWED);
    const { status, headers, body } = await execute('refused');
    expect([status, headers.get('retry-after'), body.error.code]).toEqual([503, '1', 'UNAVAILABLE']);
    expect((await send(other, 'GET', '/api/v1/executions?resourceId=refused')).body.data).toEqual([]);
    await somebody.run('ROLLBACK');
    await somebody.close();
    await renewal();
    const answer = execute('renewed');
    while (!releases.has('renewed')) await sleep(20);
    releases.get('renewed')?.();
    expect((await answer).body.outcome).toBe('executed');
  });
});

/** A process that is slow between looking whose lease has lapsed and marking what they ran. */
function slowToMark(database: Database): { readonly looks: number; goOn(): void; end(): void } {
  const findEndedProcesses = database.findEndedProcesses.bind(database);
  let looks = 0;
  let goOn = (): void => undefined;
  const mayGoOn = new Promise<void>((resolve) => (goOn = resolve));
  const looking = jest.spyOn(database, 'findEndedProcesses').mockImplementation(async (names) => {
    const ended = await findEndedProcesses(names);
    if (ended.length > 0 || looks > 0) looks += 1;
    if (ended.length > 0) await mayGoOn;
    return ended;
  });
  return {
    get looks() {
      return looks;
    },
    goOn,
    end: () => looking.mockRestore(),
  };
}
