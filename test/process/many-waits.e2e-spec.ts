import { join } from 'node:path';
import { createAgent, createPolicy } from '../support/application/factories';
import type { Answer } from '../support/application/send';
import { describeOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { startProgram, type StartedProgram } from '../support/processes/started-program';

/** More than the listeners of one event that Node.js takes for a leak. */
const WAITING = 20;

describeOnSqlite('Many requests that wait', () => {
  let program: StartedProgram;

  beforeAll(async () => {
    program = await startProgram(join(ROOT, 'dist', 'main.js'), { MAX_WAITING: String(WAITING) });
  });
  afterAll(() => program.stop('SIGKILL'));

  /** Sends one request more than may wait. That one is answered at once, so all others have arrived by then. */
  async function waitingFor(seconds: number): Promise<Promise<Answer>[]> {
    const { id } = await createAgent(program, { name: `bot that waits ${seconds}`, capabilities: ['refund'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(program, { effect: 'require_approval', actions: ['refund'], approval });
    const body = { action: 'refund', resourceType: 'order', resourceId: 'orders/1' };
    const answer = await program.send('POST', `/api/v1/agents/${id}/execute`, { body });
    return Array.from({ length: WAITING + 1 }, () =>
      program.send('GET', `/api/v1/executions/${answer.body.id}?wait=${seconds}`),
    );
  }

  async function expectPending(waiting: readonly Promise<Answer>[]): Promise<void> {
    const answers = await Promise.all(waiting);
    expect(answers.map(({ status, body }) => [status, body.outcome])).toEqual(
      Array(WAITING + 1).fill([200, 'pending_approval']),
    );
  }

  it('are no reason for a warning', async () => {
    await expectPending(await waitingFor(1));
    expect(program.printed()).not.toContain('Warning');
  });

  it('are answered when the service stops, which does not wait for as long as they would', async () => {
    const waiting = await waitingFor(60);
    await Promise.race(waiting);
    expect(await program.stop('SIGTERM')).toBe(0);
    await expectPending(waiting);
  });
});
