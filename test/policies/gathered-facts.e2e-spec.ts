import { ClaimsService } from '../../src/governance/entities/entities.service';
import { ExecuteService } from '../../src/governance/execute/execute.service';
import { SYSTEM_CALLER } from '../../src/ledger/kinds/caller';
import { PostgresConnection } from '../../src/ledger/database/postgres/postgres-connection';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import type { SqlConnection, SqlValue } from '../../src/ledger/database/sql-connection';
import { createTestApp } from '../support/application/create-test-app';
import { addClaim, chainIsValid, createAgent, createEntity, createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { onPostgres } from '../support/database/database-kind';

const IBAN = 'DE02';
const SURE = { predicate: 'iban', value: IBAN, context: { confidence: 0.95 } };

/** Commands passed to the ledger in one iteration of the event loop share a batch. */
/** More than lie between a command and the queue. */
const MICROTASKS = 100;

describe('The queries of a batch for the facts of its commands', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['look-up', 'refund', 'pay', 'spend'] });
    await createPolicy(app, { name: 'look', actions: ['look-up'] });
    const lookedUp = { earlier: 'look-up', op: 'exists', value: true };
    await createPolicy(app, { name: 'refunds', actions: ['refund'], conditions: [lookedUp] });
    const supported = { claim: 'iban', op: 'supports', parameter: '/iban', value: 0.9 };
    await createPolicy(app, { name: 'pays', actions: ['pay'], conditions: [supported] });
    const limits = [{ max: 100, per: 'day', by: 'agent' }];
    await createPolicy(app, { name: 'spends', actions: ['spend'], limits });
    return { app };
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await chainIsValid(stage.app);
  });

  async function execute(action: string, resourceId: string, run?: string): Promise<string> {
    const service = stage.app.application.get(ExecuteService, { strict: false });
    const request = {
      action,
      resourceType: 'order',
      resourceId,
      parameters: { iban: IBAN },
      ...(run !== undefined && { run }),
    };
    try {
      return (await service.execute(SYSTEM_CALLER, 'bot', request)).execution.outcome;
    } catch {
      return 'denied';
    }
  }

  const claims = (): ClaimsService => stage.app.application.get(ClaimsService, { strict: false });

  /** The statements that read what conditions ask, while something is done. */
  async function statementsOf(act: () => Promise<unknown>): Promise<string[]> {
    const Connection = onPostgres ? PostgresConnection : SqliteConnection;
    const all: SqlConnection['all'] = Reflect.get(Connection.prototype, 'all');
    const queries: string[] = [];
    const watching = function (this: SqlConnection, sql: string, parameters?: readonly SqlValue[]): Promise<unknown[]> {
      const about = /WHERE "(run|actionHash)" =|LEFT JOIN "(claims)" AS claim|JOIN "(ledger_sums)"/.exec(sql);
      if (about !== null) queries.push(about.slice(1).join(''));
      return all.call(this, sql, parameters);
    };
    jest.spyOn(Connection.prototype, 'all').mockImplementation(watching);
    await act();
    return queries;
  }

  it('is read by one statement of each kind', async () => {
    const runs = ['a', 'b', 'c', 'd'];
    for (const run of runs) expect(await execute('look-up', 'o/1', run)).toBe('authorized');
    const ids = await Promise.all(runs.map(async () => (await createEntity(stage.app)).id));
    for (const id of ids) await addClaim(stage.app, id, SURE);
    const statements = await statementsOf(async () => {
      const refunds = runs.map((run) => execute('refund', 'o/1', run));
      const payments = ids.map((id) => execute('pay', `accounts/${id}`));
      const spending = runs.map((run) => execute('spend', `o/${run}`));
      const answers = await Promise.all([...refunds, ...payments, ...spending]);
      expect(new Set(answers)).toEqual(new Set(['authorized']));
    });
    expect(statements.toSorted()).toEqual(['actionHash', 'claims', 'ledger_sums', 'run']);
  });

  it('is read for ten conditions on a time at once outside commands, so that others are served in between', async () => {
    const conditions = Array.from({ length: 5 }, (_, index) => index);
    for (const policy of [0, 1, 2, 3, 4])
      await createPolicy(stage.app, {
        ...{ name: `recent-${policy}`, effect: 'deny', actions: ['wire'] },
        conditions: conditions.map((index) => ({
          ...{ earlier: 'look-*', op: 'exists', value: true },
          within: `PT${60 + 5 * policy + index}S`,
        })),
      });
    const body = { agent: 'bot', action: 'wire', resourceType: 'order', resourceId: 'o/1' };
    const lengths: number[] = [];
    const Connection = onPostgres ? PostgresConnection : SqliteConnection;
    const all: SqlConnection['all'] = Reflect.get(Connection.prototype, 'all');
    const watching = function (this: SqlConnection, sql: string, parameters?: readonly SqlValue[]): Promise<unknown[]> {
      if (sql.includes('WITH RECURSIVE names')) lengths.push((JSON.parse(String(parameters?.[0])) as object[]).length);
      return all.call(this, sql, parameters);
    };
    jest.spyOn(Connection.prototype, 'all').mockImplementation(watching);
    expect((await send(stage.app, 'POST', '/api/v1/policies/evaluate', { body })).status).toBe(200);
    expect(lengths).toEqual([10, 10, 5]);
  });

  it('is read again where an earlier command has changed it', async () => {
    const { id } = await createEntity(stage.app);
    const { id: second } = await createEntity(stage.app);
    await addClaim(stage.app, second, SURE);
    const pay = (entity: string) => (): Promise<string> => execute('pay', `accounts/${entity}`);
    const claim = (entity: string, value: typeof SURE) => async (): Promise<string> => {
      await claims().add(SYSTEM_CALLER, entity, value);
      return 'claimed';
    };
    const refund = (): Promise<string> => execute('refund', 'o/1', 'e');
    const answers = await queuedInOrder([
      ...[refund, () => execute('look-up', 'o/1', 'e'), refund],
      ...[pay(id), claim(id, SURE), pay(id)],
      ...[pay(second), claim(second, { ...SURE, value: 'DE03' }), pay(second)],
    ]);
    expect(answers).toEqual([
      ...['denied', 'authorized', 'authorized'],
      ...['denied', 'claimed', 'authorized'],
      ...['authorized', 'claimed', 'denied'],
    ]);
  });
});

/** Starts each when the one before is in the queue of the ledger: until there, a command takes microtasks only. */
async function queuedInOrder(commands: readonly (() => Promise<string>)[]): Promise<string[]> {
  const answers: Promise<string>[] = [];
  for (const command of commands) {
    answers.push(command());
    for (let microtask = 0; microtask < MICROTASKS; microtask += 1) await Promise.resolve();
  }
  return Promise.all(answers);
}
