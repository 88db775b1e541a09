import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerService } from '../../../src/ledger/ledger.service';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { send, type Answer } from '../../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { type UnansweredCommit, withholdAnswer } from '../support/unanswered-commit';

/** A key that no replica knows: it is looked for in what other replicas have written by then. */
const UNKNOWN_KEY = `agk_${'0'.repeat(26)}_${'a'.repeat(43)}`;

describe.each<[how: string, arrive: (commit: UnansweredCommit) => unknown, isSeen: boolean]>([
  ['comes late', (commit) => commit.answer(), true],
  ['is lost', (commit) => commit.lose(), true],
  ['is lost, and which has not polled since', (commit) => commit.lose(), false],
])('A replica to which the answer of a COMMIT %s, after another changed the same record,', (_how, arrive, isSeen) => {
  let database: TemporaryDatabase;
  let late: TestApp;
  let other: TestApp;

  beforeAll(async () => {
    database = await temporaryDatabase();
    const start = (): Promise<TestApp> => createTestApp({ environment: database.environment });
    [late, other] = [await start(), await start()];
  });
  afterEach(() => chainIsValid(late));
  afterAll(async () => {
    await Promise.all([late.close(), other.close()]);
    await database.remove();
  });

  /** Lets the late replica write, and the other one before the first gets to know that its commit took effect. */
  async function overtaken<Result>(write: () => Promise<Result>, overtake: () => Promise<unknown>): Promise<Result> {
    const commit = withholdAnswer();
    const written = write();
    await commit.done;
    await overtake();
    const { sequence } = headOf(other);
    if (isSeen) await seen(sequence);
    arrive(commit);
    const result = await written;
    expect(headOf(late).sequence).toBeGreaterThanOrEqual(sequence);
    return result;
  }

  function headOf(app: TestApp): LedgerService['head'] {
    return app.application.get(LedgerService).head;
  }

  /** Resolves when the late replica has followed the chain so far. */
  async function seen(sequence: number): Promise<void> {
    while (headOf(late).sequence < sequence) await sleep(20);
    expect((await read(UNKNOWN_KEY)).status).toBe(401);
    await evaluated('anything');
  }

  const read = (key: string): Promise<Answer> => send(late, 'GET', '/api/v1/entities', { key });

  function evaluated(action: string): Promise<Answer> {
    const body = { subject: { name: 'somebody' }, action, resourceType: 'document', resourceId: 'a' };
    return send(late, 'POST', '/api/v1/policies/evaluate', { body });
  }

  it('refuses a key that it issued and the other revoked', async () => {
    const { secret } = await overtaken(
      () => issueKey(late),
      async () => {
        const { body } = await send(other, 'GET', '/api/v1/api-keys');
        await revoke(body.data[0].id);
      },
    );
    expect((await read(secret)).status).toBe(401);
  });

  it('refuses the keys of an agent that it resumed and the other suspended', async () => {
    const { id: agentId } = await createAgent(late, { name: 'reader' });
    const { secret } = await issueKey(late, { agentId });
    const turn = (app: TestApp, step: string): Promise<Answer> =>
      send(app, 'POST', `/api/v1/agents/${agentId}/${step}`);
    await turn(late, 'suspend');
    const { status } = await overtaken(
      () => turn(late, 'resume'),
      () => turn(other, 'suspend'),
    );
    expect(status).toBe(200);
    expect((await read(secret)).status).toBe(403);
  });

  it('evaluates by the policy of the other, not by its own that this one superseded', async () => {
    const create = (app: TestApp, version: string, effect: string): Promise<{ id: string }> =>
      createPolicy(app, { name: 'turns', version, effect, actions: ['burn'] });
    let newest = { id: '' };
    await overtaken(
      () => create(late, '1', 'deny'),
      async () => {
        newest = await create(other, '2', 'allow');
      },
    );
    expect((await evaluated('burn')).body).toMatchObject({ effect: 'allow', policies: [{ id: newest.id }] });
  });

  async function revoke(id: string): Promise<void> {
    expect((await send(other, 'POST', `/api/v1/api-keys/${id}/revoke`, { body: {} })).status).toBe(200);
  }
});
