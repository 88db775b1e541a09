import { once } from 'node:events';
import { AGENT } from '../../src/governance/agents/agent.entity';
import { SYSTEM_CALLER } from '../../src/ledger/kinds/caller';
import { Database } from '../../src/ledger/database/database';
import { LedgerService } from '../../src/ledger/ledger.service';
import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, propose } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { DECISIONS, reject } from './support';

/** Approvers that are examined to say whether they are enough. */
const EXAMINED = 10_000;
const COMMAND = 500;
/** Agents that are read at once. */
const CHUNK = 1_000;

describe('A decision with very many approvers', () => {
  let app: TestApp;

  beforeAll(async () => (app = await createTestApp()));
  afterAll(async () => {
    await chainIsValid(app);
    // A client that gave up has opened another connection, on which the server would wait for a request.
    app.application.getHttpServer().closeAllConnections();
    await app.close();
  });

  const approversOf = async ({ id }: { readonly id: string }, query: string): Promise<Parsed> =>
    (await send(app, 'GET', `${DECISIONS}/${id}/approvers?${query}`)).body;

  /** In one commit; a request each would take long. */
  async function createMachines(first: number, count: number): Promise<void> {
    await app.application.get(LedgerService).write(SYSTEM_CALLER, (transaction) => {
      const { now } = transaction;
      for (let number = first; number < first + count; number += 1) {
        const id = transaction.newId(AGENT);
        const rights = {
          description: '',
          capabilities: [],
          roles: [],
          status: 'active',
          observeUntil: null,
          slackId: null,
          directory: null,
          team: null,
          kind: 'machine',
        } as const;
        const agent = { id, name: `machine ${number}`, ...rights, createdAt: now, updatedAt: now, revision: 1 };
        transaction.insert(AGENT, agent, { action: 'agent.created', agentId: id });
      }
      return Promise.resolve();
    });
  }

  it('can be approved if the first 10,000 suffice; if they do not, the answer is unknown', async () => {
    const proposer = await createAgent(app, { name: 'proposer', kind: 'human' });
    for (let made = 0; made < EXAMINED; made += COMMAND) await createMachines(made, COMMAND);
    const machines = { subjects: ['kind:machine'], approvals: 2 };
    const enough = await propose(app, proposer.id, { approvers: [machines] });
    const tooFew = await propose(app, proposer.id, { approvers: [machines, { subjects: ['role:nobody'] }] });
    expect(await approversOf(tooFew, 'limit=1')).toMatchObject({ total: EXAMINED, feasible: false });
    const { name } = await createAgent(app, { name: 'one machine more' });
    expect(await approversOf(tooFew, `offset=${EXAMINED}`)).toMatchObject({
      ...{ total: EXAMINED + 1, feasible: null, data: [{ name, able: true }] },
    });
    expect(await approversOf(enough, 'limit=1')).toMatchObject({ total: EXAMINED + 1, feasible: true });
    await reject(app, tooFew.id);
    expect((await approversOf(tooFew, 'limit=1')).feasible).toBe(false);
  });

  it('are not all read for a client that has left, even if none of them matches', async () => {
    const { id: proposer } = await createAgent(app, { name: 'alone' });
    await createMachines(EXAMINED, 2 * CHUNK);
    const { id } = await propose(app, proposer, { approvers: [{ subjects: ['agent:nobody'] }] });
    const { lists } = app.application.get(Database);
    const all = lists.all.bind(lists);
    const controller = new AbortController();
    const left = once(controller.signal, 'abort');
    let reads = 0;
    let release = (): void => undefined;
    let hold: Promise<void> | null = new Promise<void>((resolve) => (release = resolve));
    jest.spyOn(lists, 'all').mockImplementation(async (sql, parameters) => {
      if (sql.includes('"decisions"')) {
        const held = hold;
        hold = null;
        await held;
      }
      if (!sql.includes('"agents"')) return all(sql, parameters);
      reads += 1;
      controller.abort();
      await left;
      // After this answer the service knows, too.
      await send(app, 'GET', '/api/v1/health');
      return all(sql, parameters);
    });
    try {
      const headers = { 'X-API-Key': API_KEY };
      const search = fetch(`${app.url}${DECISIONS}/${id}/approvers`, { headers, signal: controller.signal });
      await expect(search).rejects.toThrow();
      // Two requests of a client run at a time: the second of these begins when the cancelled one has ended.
      const other = send(app, 'GET', DECISIONS);
      await send(app, 'GET', DECISIONS);
      release();
      await other;
      expect(reads).toBe(1);
    } finally {
      jest.restoreAllMocks();
    }
  });
});
