import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../support/documents/markdown';
import { issueKey } from '../support/application/factories';
import type { Answer } from '../support/application/send';
import { startProgram, type StartedProgram } from '../support/processes/started-program';

/** Policies that overlap in many ways, all of them changed: comparing them takes long. */
const HUGE = 10_000;
const ONE = { name: 'one', version: '1', effect: 'allow', subjects: ['*'], actions: ['read'], resources: ['a'] };

describe('The process that compares policies, in the built program', () => {
  let program: StartedProgram;

  beforeAll(async () => {
    program = await startProgram(join(ROOT, 'dist', 'main.js'), { RATE_LIMIT: '1000000', PLAN_TIMEOUT: '300000' });
  });
  afterAll(() => program.stop());

  const plan = (policies: readonly object[]): Promise<Answer> =>
    program.send('POST', '/api/v1/policies/plan', { body: { policies } });

  it('answers', async () => {
    const { body } = await plan([ONE]);
    expect(body).toMatchObject({ complete: true, reason: null, effects: [{ to: { effect: 'allow' } }] });
  });

  it('may end for lack of memory: the plan says so, and the service and the next plan continue', async () => {
    // That of the plan before may still be ending.
    while (comparingProcesses().length > 0) await sleep(20);
    const answering = plan(huge());
    process.kill(await comparingProcess(), 'SIGKILL');
    const answer = await answering;
    expect(answer).toMatchObject({ status: 200, body: { complete: false } });
    expect(answer.body.reason).toBe('The plan needed too much memory.');
    expect(answer.body.changes).toHaveLength(HUGE);
    expect((await program.send('GET', '/api/v1/health')).status).toBe(200);
    expect((await plan([ONE])).body.complete).toBe(true);
  });

  it('does not end early for another reason unnoticed: the plan fails, and the next one continues', async () => {
    while (comparingProcesses().length > 0) await sleep(20);
    const answering = plan(huge());
    process.kill(await comparingProcess(), 'SIGTERM');
    expect((await answering).status).toBe(500);
    expect((await plan([ONE])).body.complete).toBe(true);
  });

  it("ends when its caller's key is revoked, and the plan that waits for it begins", async () => {
    const { id, secret } = await issueKey(program);
    const { long, waiting } = await longPlanAndOneBehind(secret);
    await program.send('POST', `/api/v1/api-keys/${id}/revoke`);
    expect((await long).status).toBe(401);
    expect((await waiting).body.complete).toBe(true);
  });

  /** The ids of the processes that the program has started. */
  function comparingProcesses(): number[] {
    const { pid } = program.process;
    return (readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? []).map(Number);
  }

  async function comparingProcess(): Promise<number> {
    for (;;) {
      const [child] = comparingProcesses();
      if (child !== undefined) return child;
      await sleep(20);
    }
  }

  /**
   * Small plans follow each other at once. When a long one is under way, one waits for it and the other is refused.
   * A long plan that was itself refused, or over before a pair of small ones was sent, is asked for again.
   */
  async function longPlanAndOneBehind(
    key: string,
  ): Promise<{ readonly long: Promise<Answer>; readonly waiting: Promise<Answer> }> {
    for (;;) {
      const over = new AbortController();
      const long = program.send('POST', '/api/v1/policies/plan', { key, body: { policies: huge() } });
      const end = (): void => over.abort();
      long.then(end, end);
      while (!over.signal.aborted) {
        const both = [plan([ONE]), plan([ONE])] as const;
        const first = await Promise.race(both.map(async (answer, index) => ({ index, status: (await answer).status })));
        if (first.status === 503) return { long, waiting: both[1 - first.index] ?? both[0] };
        await Promise.all(both);
        await sleep(500);
      }
      await long;
    }
  }
});

function huge(): object[] {
  return Array.from({ length: HUGE }, (_, index) => ({
    ...{ ...ONE, name: `huge-${index}`, effect: index % 3 === 0 ? 'deny' : 'allow', priority: index % 11 },
    actions: Array.from({ length: 3 }, (__, at) => `${index % 50}-${at}`),
    resources: [`x/${index % 97}/*`, `x/${index % 89}/y/${index}`],
  }));
}
