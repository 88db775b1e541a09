import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { foreignConnection } from '../support/database/foreign-connection';
import { isReplayed, type Parsed } from '../support/application/send';
import { type Attempt, History, type Operation, TRACES } from './support/history';
import { falseHealth, ledgerFaults } from './support/ledger-faults';
import { Load } from './support/load';
import { seededRandom } from './support/random';
import { type SnapshotEntry, takeSnapshot } from './support/snapshot';
import { transitionFaults } from './support/transition-faults';

const WRITES = 500;

/** The checker itself is tested against faults that it must find. */
describe('The checker', () => {
  let app: TestApp;
  let database: SqlConnection;
  let history: History;

  beforeAll(async () => {
    app = await createTestApp();
    database = await foreignConnection(app);
    history = new History();
    const load = new Load('checker', history);
    await load.prepare(app.url);
    // A fixed seed, since there must be some operations of every kind.
    const random = seededRandom('5:checker');
    for (let write = 0; write < WRITES; write += 1) await load.once(app.url, random);
  });
  afterAll(async () => {
    await database.close();
    await app.close();
  });

  const faults = (seen: History = history): Promise<string[]> => ledgerFaults(app.url, database, seen);

  /** The history with one attempt changed. */
  function altered(operation: Operation, status: number, alter: (attempt: Attempt) => Attempt | null): History {
    const other = new History();
    const isIt = (attempt: Attempt): boolean =>
      attempt.operation === operation && attempt.answer?.status === status && !attempt.path.includes('prepare');
    const index = history.attempts.findIndex(isIt);
    if (index < 0) throw new Error(`The load has no ${operation} with ${status}.`);
    history.attempts.forEach((attempt, at) => {
      const copy = at === index ? alter(attempt) : attempt;
      if (copy !== null) other.attempts.push(copy);
    });
    return other;
  }

  /** The history with one answered repetition of a keyed write changed. */
  function alteredRepetition(alter: (attempt: Attempt) => Attempt): History {
    const other = new History();
    const index = history.attempts.findIndex(({ answer }) => answer?.status === 201 && isReplayed(answer));
    expect(index).toBeGreaterThan(0);
    other.attempts.push(...history.attempts.map((attempt, at) => (at === index ? alter(attempt) : attempt)));
    return other;
  }

  function withAnswer(attempt: Attempt, status: number, body: Parsed = attempt.answer?.body): Attempt {
    if (attempt.answer === null) throw new Error('The attempt has no answer.');
    return { ...attempt, answer: { ...attempt.answer, status, body } };
  }

  /** Changes a table behind the service's back, runs the checker, and restores the table. */
  async function faultsAfter(table: string, change: string): Promise<string[]> {
    await database.run(`CREATE TEMP TABLE kept AS SELECT * FROM ${table}`);
    await database.run(change);
    const changeFaults = await faults();
    await database.run(`DELETE FROM ${table}`);
    await database.run(`INSERT INTO ${table} SELECT * FROM kept`);
    await database.run('DROP TABLE kept');
    return changeFaults;
  }

  it('finds no fault in a correct history with operations of every kind', async () => {
    expect(await faults()).toEqual([]);
    const done = history.attempts.filter(({ answer }) => (answer?.status ?? 500) < 300);
    expect(new Set(done.map(({ operation }) => operation))).toEqual(new Set(Object.keys(TRACES)));
    const statuses = Object.keys(history.statuses());
    for (const status of ['200', '201', '204', '400', '403', '404', '409']) expect(statuses).toContain(status);
  });

  it.each<[what: string, seen: () => History]>([
    ['a refused write that is there', () => altered('createEntity', 201, (attempt) => withAnswer(attempt, 503))],
    ['a write that nobody sent', () => altered('addClaim', 201, () => null)],
    [
      'another content than was answered',
      () => altered('createAgent', 201, (it) => withAnswer(it, 201, { ...it.answer?.body, description: 'other' })),
    ],
    ['another content than was sent', () => altered('createEntity', 201, (it) => ({ ...it, body: { type: 'other' } }))],
    [
      'an acknowledged write that is not there',
      () => altered('createAgent', 409, (attempt) => withAnswer(attempt, 201)),
    ],
    ['a refusal by rule that was answered as done', () => altered('execute', 403, (it) => withAnswer(it, 200))],
  ])('finds %s', async (_what, seen) => {
    expect(await faults(seen())).not.toEqual([]);
  });

  it.each<[what: string, alter: (attempt: Attempt) => Attempt]>([
    ['that has another answer', (it) => ({ ...it, answer: it.answer && { ...it.answer, text: `${it.answer.text} ` } })],
    ['that is not called one', (it) => ({ ...it, answer: it.answer && { ...it.answer, headers: new Headers() } })],
    ['that found something else', (it) => withAnswer(it, 404)],
  ])('finds a repetition under a key %s', (_what, alter) =>
    expect(faults(alteredRepetition(alter))).resolves.not.toEqual([]),
  );

  it('finds a write that took effect twice under one key, and one whose lost attempt took effect in addition to another', async () => {
    const isMade = ({ operation, key, answer }: Attempt): boolean =>
      operation === 'createEntity' && key === undefined && answer?.status === 201;
    const twice = history.attempts.filter(isMade).slice(0, 2);
    for (const answerOf of [({ answer }: Attempt) => answer, () => null]) {
      const other = new History();
      const seen = history.attempts.map((it) => (twice.includes(it) ? { ...it, key: 'k', answer: answerOf(it) } : it));
      other.attempts.push(...seen);
      expect((await faults(other)).join()).toContain('left [entity.created,entity.created]');
    }
  });

  it('repeats unanswered requests until they are answered', async () => {
    const seen = history.ofCopy();
    const request = { operation: 'createEntity', method: 'POST', path: 'entities', key: 'lost' } as const;
    const body = { type: 'lost', name: 'x' };
    await seen.write('http://127.0.0.1:1', { ...request, body });
    expect(await faults(seen)).toEqual([]);
    history.attempts.push(...seen.attempts.slice(history.attempts.length));
    const answers = seen.attempts.filter(({ key }) => key === 'lost').map(({ answer }) => answer?.status);
    expect(answers).toEqual([undefined, 201, 201]);
  });

  it.each<[what: string, table: string, change: string]>([
    ['a record that is gone', 'agents', 'DELETE FROM agents WHERE "createdSequence" = 1'],
    ['a record that was changed', 'entities', `UPDATE entities SET name = name || '!'`],
    [
      'a record without an entry',
      'claims',
      `INSERT INTO claims SELECT 'clm_0', -1, "entityId", 'p', '1', '{}', "createdAt", 'p' FROM claims LIMIT 1`,
    ],
    ['an entry that is gone', 'ledger_entries', 'DELETE FROM ledger_entries WHERE sequence = 20'],
    ['an end that is gone', 'ledger_entries', 'DELETE FROM ledger_entries WHERE sequence > 100'],
    ['a state that was changed', 'ledger_entries', `UPDATE ledger_entries SET state = '{}' WHERE sequence = 20`],
    [
      'statistics that are wrong',
      'ledger_counters',
      `UPDATE ledger_counters SET value = value + 1 WHERE name = 'claims'`,
    ],
    ['two versions in force', 'policies', `UPDATE policies SET status = 'active'`],
  ])('finds %s', async (_what, table, change) => {
    expect(await faultsAfter(table, change)).not.toEqual([]);
  });

  it('finds entries that could not follow the earlier ones', async () => {
    const snapshot = await takeSnapshot(app.url, database);
    expect(transitionFaults(snapshot)).toEqual([]);
    const entryOf = (action: string): SnapshotEntry => {
      const entry = snapshot.entries.find(({ audit }) => audit.action === action);
      if (entry === undefined) throw new Error(`The load has left no ${action}.`);
      return entry;
    };
    for (const action of [
      'decision.rejected',
      'decision.approved',
      'policy.created',
      'entity.created',
      'claim.removed',
    ]) {
      const entries = [...snapshot.entries, entryOf(action)];
      expect({ action, count: transitionFaults({ ...snapshot, entries }).length }).not.toEqual({ action, count: 0 });
    }
    const authorized = entryOf('execution.authorized');
    const suspended = {
      ...entryOf('agent.suspended'),
      audit: { ...entryOf('agent.suspended').audit, subjectId: authorized.audit.agentId },
    };
    expect(transitionFaults({ ...snapshot, entries: [suspended, authorized] }).join()).toContain('suspended');
  });

  it('finds that the service called itself healthy although nothing could be committed', () => {
    const refused = { ...altered('createEntity', 201, (it) => withAnswer(it, 503)).attempts[0] } as Attempt;
    const seen = new History();
    const unavailable = { ...refused, answer: refused.answer && { ...refused.answer, status: 503 } };
    seen.attempts.push({ ...unavailable, began: 10, ended: 20 });
    seen.sightings.push({ status: 200, began: 5, ended: 6 }, { status: 503, began: 25, ended: 26 });
    expect(falseHealth(seen, 0, 100)).toBe(0);
    seen.sightings.push({ status: 200, began: 30, ended: 31 });
    expect(falseHealth(seen, 0, 100)).toBe(1);
    expect(falseHealth(seen, 0, 30)).toBe(0);
    const carriedOut = { ...refused, answer: refused.answer && { ...refused.answer, status: 201 } };
    seen.attempts.push({ ...carriedOut, began: 1, ended: 9 });
    expect(falseHealth(seen, 0, 100)).toBe(1);
    // The write that follows shows whether there was room again; what is written after the fault shows nothing.
    const committed = [...seen.attempts];
    seen.attempts.push({ ...carriedOut, began: 40, ended: 45 });
    expect(falseHealth(seen, 0, 100)).toBe(0);
    expect(falseHealth(seen, 0, 35)).toBe(1);
    seen.attempts.push({ ...unavailable, began: 33, ended: 36 });
    expect(falseHealth(seen, 0, 100)).toBe(1);
    seen.attempts.splice(0, seen.attempts.length, ...committed, { ...carriedOut, began: 22, ended: 28 });
    expect(falseHealth(seen, 0, 100)).toBe(0);
  });
});
