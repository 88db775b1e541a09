import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GovernanceClient } from '../../../clients/typescript/src/index.js' with { 'resolution-mode': 'import' };
import { seededRandom } from '../../faults/support/random';
import { API_KEY } from '../../support/application/api-key';
import { openTcpGate, type TcpGate } from '../../support/application/tcp-gate';
import { describeOnSqlite } from '../../support/database/database-kind';
import { ROOT } from '../../support/documents/markdown';
import { run } from '../../support/processes/shell';
import { startProgram, type StartedProgram } from '../../support/processes/started-program';
import { builtClient } from '../typescript-client';

const SEND = { agent: 'mailer', action: 'send', resourceType: 'mail' };
const WORKERS = 8;

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) process.stdout.write('SKIPPED: guard of the Python client under kills needs python3.\n');
const LANGUAGES = hasPython ? (['TypeScript', 'Python'] as const) : (['TypeScript'] as const);

describeOnSqlite('guard, however often the service is killed,', () => {
  const random = seededRandom(process.env['FAULT_SEED'] ?? String(Date.now()));
  let folder: string;
  let gate: TcpGate;
  let program: StartedProgram;
  let client: GovernanceClient;
  /** Maps the numbers of actions to how often each ran. */
  let runs: Map<number, number>;
  /** The executions under which they ran, where the client tells. */
  let executions: string[];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'client-kill-'));
    gate = await openTcpGate('127.0.0.1', 1);
    program = await start();
    const { GovernanceClient: Client } = await builtClient();
    // A busy machine may take long to restart the service.
    client = new Client({ url: `http://127.0.0.1:${gate.port}`, key: API_KEY, patience: 120_000 });
    runs = new Map();
    executions = [];
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

  function ran(number: number): void {
    runs.set(number, (runs.get(number) ?? 0) + 1);
  }

  /** Several workers that guard some actions each, one after another. */
  const guardAll = {
    TypeScript: async (each: number, wait: number): Promise<void> => {
      const guarding = Array.from({ length: WORKERS }, async (_, worker) => {
        for (let made = 0; made < each; made += 1) {
          const number = each * worker + made;
          const act = async (): Promise<void> => {
            ran(number);
            await sleep(random.below(120));
          };
          await client.guard({ ...SEND, resourceId: `mails/${number}` }, act, { wait });
        }
      });
      await Promise.all(guarding);
    },
    Python: async (each: number, wait: number): Promise<void> => {
      const environment = {
        ...{ GOVERNANCE_URL: `http://127.0.0.1:${gate.port}`, GOVERNANCE_API_KEY: API_KEY },
        ...{ PYTHONPATH: join(ROOT, 'clients', 'python'), PYTHONDONTWRITEBYTECODE: '1' },
      };
      const program = [join(ROOT, 'test', 'clients', 'guard-all.py'), ...[each, wait, WORKERS].map(String)];
      const { exitCode, output, errors } = await run('python3', program, { environment });
      expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
      for (const [, number, id = ''] of output.matchAll(/^(\d+) (\S+)$/gm)) {
        ran(Number(number));
        executions.push(id);
      }
    },
  };

  async function kill(times: number, within: number): Promise<void> {
    for (let kills = 0; kills < times; kills += 1) {
      await sleep(random.below(within));
      await program.stop('SIGKILL');
      program = await start();
    }
  }

  /** Each under an execution of its own, which the service has authorised, and knows the result of. */
  async function expectAllToHaveRunOnce(count: number): Promise<void> {
    expect([...runs.values()]).toEqual(Array(count).fill(1));
    const { data, total } = await client.get('/api/v1/executions', { query: { limit: 100 } });
    expect(total).toBe(count);
    expect(new Set(data.map(({ outcome }) => outcome))).toEqual(new Set(['executed']));
    if (executions.length > 0) expect([...executions].sort()).toEqual(data.map(({ id }) => id).sort());
  }

  it.each(LANGUAGES)('runs in %s what is allowed once, and finally reports', async (language) => {
    await createPolicy('allow');
    await Promise.all([guardAll[language](5, 0), kill(2, 300)]);
    await expectAllToHaveRunOnce(5 * WORKERS);
  });

  it.each(LANGUAGES)('runs in %s what it waits for once, after its approval, and finally reports', async (language) => {
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
    const guarding = guardAll[language](2, 600).finally(() => (isOver = true));
    await Promise.all([guarding, approve(), kill(4, 600)]);
    await expectAllToHaveRunOnce(2 * WORKERS);
    expect(approved.size).toBe(2 * WORKERS);
  });
});
