import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GovernanceClient } from '../../clients/typescript/src/index.js' with { 'resolution-mode': 'import' };
import { seededRandom } from '../faults/support/random';
import { API_KEY } from '../support/application/create-test-app';
import { openTcpGate, type TcpGate } from '../support/application/tcp-gate';
import { describeOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { startProgram, type StartedProgram } from '../support/processes/started-program';
import { builtClient } from './typescript-client';

const SEND = { agent: 'mailer', action: 'send', resourceType: 'mail' };
const WORKERS = 8;

describeOnSqlite('guard, however often the service is killed', () => {
  const random = seededRandom(process.env['FAULT_SEED'] ?? String(Date.now()));
  let folder: string;
  let gate: TcpGate;
  let program: StartedProgram;
  let client: GovernanceClient;
  /** How often each action ran, by its number. */
  let runs: Map<number, number>;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'client-kill-'));
    gate = await openTcpGate('127.0.0.1', 1);
    program = await start();
    const { GovernanceClient: Client } = await builtClient();
    // A busy machine may take long to restart the service.
    client = new Client({ url: `http://127.0.0.1:${gate.port}`, key: API_KEY, patience: 120_000 });
    runs = new Map();
    await client.post('/api/v1/agents', { body: { name: 'mailer', capabilities: ['send'] } });
  });
  afterEach(async () => {
    await gate.close();
    await program.stop();
    rmSync(folder, { recursive: true });
  });

  async function start(): Promise<StartedProgram> {
    const environment = { DATABASE_URL: `sqlite:${join(folder, 'governance.db')}`, RATE_LIMIT: '100000' };
    const started = await startProgram(join(ROOT, 'dist', 'main.js'), environment);
    gate.aim(Number(new URL(started.url).port));
    return started;
  }

  async function createPolicy(effect: 'allow' | 'require_approval'): Promise<void> {
    const rules = { subjects: ['*'], actions: ['*'], resources: ['*'] };
    await client.post('/api/v1/policies', { body: { name: 'all', version: '1', effect, ...rules } });
  }

  /** Several workers that guard some actions each, one after another. */
  async function guardAll(each: number, wait: number): Promise<void> {
    const guarding = Array.from({ length: WORKERS }, async (_, worker) => {
      for (let made = 0; made < each; made += 1) {
        const number = each * worker + made;
        const run = async (): Promise<void> => {
          runs.set(number, (runs.get(number) ?? 0) + 1);
          await sleep(random.below(120));
        };
        await client.guard({ ...SEND, resourceId: `mails/${number}` }, run, { wait });
      }
    });
    await Promise.all(guarding);
  }

  async function kill(times: number, within: number): Promise<void> {
    for (let kills = 0; kills < times; kills += 1) {
      await sleep(random.below(within));
      await program.stop('SIGKILL');
      program = await start();
    }
  }

  async function expectAllToHaveRunOnce(count: number): Promise<void> {
    expect([...runs.values()]).toEqual(Array(count).fill(1));
    const { total } = await client.get('/api/v1/executions');
    const { total: executed } = await client.get('/api/v1/executions', { query: { outcome: 'executed' } });
    expect([total, executed]).toEqual([count, count]);
  }

  it('runs what is allowed once, and finally reports', async () => {
    await createPolicy('allow');
    await Promise.all([guardAll(5, 0), kill(2, 300)]);
    await expectAllToHaveRunOnce(5 * WORKERS);
  });

  it('runs what it waits for once, after its approval, and finally reports', async () => {
    const { id: approverId } = await client.post('/api/v1/agents', { body: { name: 'ann', kind: 'human' } });
    await createPolicy('require_approval');
    const approved = new Set<string>();
    let isOver = false;
    const approve = async (): Promise<void> => {
      while (!isOver) {
        const { data } = await client.get('/api/v1/decisions', { query: { status: 'proposed', limit: 1 } });
        for (const { id } of data) {
          await client.post('/api/v1/decisions/{id}/approve', { path: { id }, body: { approverId } });
          approved.add(id);
        }
        // Some are still waited for whenever the service is killed.
        await sleep(random.below(600));
      }
    };
    const guarding = guardAll(2, 600).finally(() => (isOver = true));
    await Promise.all([guarding, approve(), kill(4, 600)]);
    await expectAllToHaveRunOnce(2 * WORKERS);
    expect(approved.size).toBe(2 * WORKERS);
  });
});
