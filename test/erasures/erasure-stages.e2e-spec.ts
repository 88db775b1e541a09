import { approve, ask, company, pending, reject, requireApproval } from '../approvals/support';
import { EXECUTION, noteOf } from '../../src/governance/executions/execution.entity';
import { SYSTEM_CALLER } from '../../src/ledger/kinds/caller';
import { LedgerService } from '../../src/ledger/ledger.service';
import { RetainedContents } from '../../src/evidence/erasures/retained-contents';
import { ErasuresService } from '../../src/evidence/erasures/erasures.service';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { Leftovers } from '../../src/ledger/writing/leftovers';
import { ActionsModule } from '../support/application/actions.module';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy, propose } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { send, type Parsed } from '../support/application/send';
import { runVerifier } from '../support/processes/run-verifier';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const DAY = 86_400_000;

describe('A log whose contents are being erased', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let foreign: SqlConnection;
  /** Lets the service empty the entries of one more record. */
  let allowChunk: () => void;

  beforeEach(async () => {
    database = await temporaryDatabase();
    const settings = { RETAIN_AT_LEAST: 'PT0S', RETAIN_CONTENT: 'P1D', MAX_CLOCK_STEP: String(10 * DAY) };
    app = await createTestApp({ environment: { ...database.environment, ...settings }, modules: [ActionsModule] });
    foreign = await foreignConnection(app);
    let chunks = 0;
    allowChunk = () => {
      chunks += 1;
    };
    const deleteChunk = Reflect.get(Leftovers.prototype, 'deleteChunk');
    jest.spyOn(Leftovers.prototype, 'deleteChunk').mockImplementation(async function (this: Leftovers, connection) {
      if (chunks === 0) return new Promise((resolve) => setTimeout(resolve, 5));
      chunks -= 1;
      return deleteChunk.call(this, connection);
    });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await restoreTime();
    await foreign.close();
    await app.close();
    await database.remove();
  });

  async function left(): Promise<number> {
    const rows = await foreign.all('SELECT 1 FROM "ledger_leftovers"');
    return rows.length;
  }

  /** Verifies the export after each chunk until nothing is left. Returns what the verifier says each time. */
  async function verdicts(): Promise<string[]> {
    const verdictsSoFar: string[] = [];
    for (let count = await left(); ;) {
      const exported = (await send(app, 'GET', '/api/v1/provenance/export')).text;
      const { output } = await runVerifier(['-'], exported);
      verdictsSoFar.push(/FAULT .*|(?:IN)?VALID.*/.exec(output)?.[0] ?? output);
      if (count === 0) return verdictsSoFar;
      allowChunk();
      const before = count;
      while (count === before) count = await left();
    }
  }

  const valid = (count: number): string[] => Array.from({ length: count }, () => 'VALID');

  /** Executions of every outcome, and what they rest on. */
  async function fill(): Promise<Record<string, Parsed>> {
    const { bot, ann } = await company(app);
    const entity = await createEntity(app);
    await addClaim(app, entity.id, { predicate: 'tier', value: 'gold', context: { confidence: 1 } });
    await requireApproval(app, { decideWithin: 'P30D', executeWithin: 'P30D', grant: { for: 'P10D', uses: 2 } });
    const supported = { claim: 'tier', op: 'supports', parameter: '/tier', value: 0.9 };
    await createPolicy(app, {
      name: 'known',
      effect: 'allow',
      actions: ['refund'],
      priority: 900,
      conditions: [supported],
    });
    const targeted = await ask(app, bot, { resourceId: `shops/${entity.id}`, parameters: { tier: 'gold' } });
    expect(targeted.body.outcome).toBe('authorized');
    const rejected = await pending(app, bot, { resourceId: 'orders/1' });
    await reject(app, rejected.decisionId, ann, 'Not this one');
    const proposed = await propose(app, bot.id, { title: 'A proposal that is settled' });
    await send(app, 'POST', `/api/v1/decisions/${proposed.id}/cancel`);
    const approved = await pending(app, bot, { resourceId: 'orders/3' });
    await approve(app, approved.decisionId, ann);
    await send(app, 'POST', `/api/v1/executions/${approved.id}/resume`);
    const granted: Parsed[] = [];
    for (const resourceId of ['orders/5', 'orders/6']) {
      const { id, decisionId } = await pending(app, bot, { resourceId });
      const review = { approverId: ann.id, grant: { for: 'P10D', uses: 2 } };
      await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body: review });
      await send(app, 'POST', `/api/v1/executions/${id}/cancel`);
      granted.push((await ask(app, bot, { resourceId })).body);
    }
    return { bot, open: granted[0], entity, rejected, approved, proposed };
  }

  it('is valid after every step of RETAIN_CONTENT', async () => {
    await fill();
    await moveTime(2 * DAY);
    await app.application.get(RetainedContents).eraseOld();
    const count = await left();
    expect(count).toBeGreaterThan(5);
    expect(await verdicts()).toEqual(valid(count + 1));
  });

  it('is valid after every step of an erasure', async () => {
    const { entity, rejected, approved, proposed } = await fill();
    const subjects = [
      { type: 'entity', id: entity?.id },
      { type: 'execution', id: rejected?.id },
      { type: 'execution', id: approved?.id },
      { type: 'decision', id: proposed?.id },
    ];
    const { status } = await send(app, 'POST', '/api/v1/erasures', { body: { subjects, reason: 'Request 7' } });
    expect(status).toBe(201);
    const count = await left();
    expect(await verdicts()).toEqual(valid(count + 1));
  });

  it('is valid after every step of an erasure of what a restored backup has opened again', async () => {
    const { bot, open } = await fill();
    const waiting = await pending(app, bot as { id: string; name: string }, { resourceId: 'orders/9' });
    const proposed = await propose(app, String(bot?.id), { title: 'A proposal that waits' });
    const subjects = [
      { type: 'execution', id: waiting.id },
      { type: 'decision', id: proposed.id },
      { type: 'execution', id: String(open?.id) },
    ] as const;
    await app.application.get(ErasuresService).eraseAgain(subjects, 'They had been erased');
    const count = await left();
    expect(count).toBeGreaterThan(3);
    expect(await verdicts()).toEqual(valid(count + 1));
  });

  it('is valid if a request is repeated whose rejection was erased', async () => {
    const { bot, ann } = await company(app);
    await requireApproval(app);
    const rejected = await pending(app, bot);
    await reject(app, rejected.decisionId, ann, 'Not this one');
    expect((await ask(app, bot)).body.error.reason).toBe('approval_rejected');
    const subjects = [{ type: 'execution', id: rejected.id }];
    await send(app, 'POST', '/api/v1/erasures', { body: { subjects, reason: 'Request 8' } });
    await pending(app, bot);
    const count = await left();
    expect(await verdicts()).toEqual(valid(count + 1));
  });

  it('is valid if what ran in a restored backup is marked as interrupted after it was erased again', async () => {
    const bot = await createAgent(app, { name: 'bot', capabilities: ['hang'] });
    await createPolicy(app, { effect: 'allow', actions: ['hang'] });
    const entity = await createEntity(app);
    void ask(app, bot, { action: 'hang', resourceId: `shops/${entity.id}` });
    const running = async (): Promise<Parsed[]> =>
      (await send(app, 'GET', '/api/v1/executions?outcome=running')).body.data;
    while ((await running()).length === 0);
    const [{ id } = { id: '' }] = await running();
    await app.application.get(ErasuresService).eraseAgain([{ type: 'execution', id }], 'It had been erased');
    // As the start of the service does.
    await app.application.get(LedgerService).write(SYSTEM_CALLER, async (transaction) => {
      const execution = await transaction.find(EXECUTION, id);
      if (execution === undefined) throw new Error('The execution is gone.');
      const ended = { outcome: 'interrupted', failureReason: '', completedAt: transaction.now, runBy: '' } as const;
      const note = { ...noteOf(execution, 'execution.interrupted'), outcome: 'failed' } as const;
      return transaction.update(EXECUTION, { ...execution, ...ended }, note).id;
    });
    const count = await left();
    expect(await verdicts()).toEqual(valid(count + 1));
  });
});
