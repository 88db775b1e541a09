import { join } from 'node:path';
import { createAgent, createPolicy } from '../support/application/factories';
import { describeOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { startProgram, type StartedProgram } from '../support/processes/started-program';

/** More than the listeners of one event that Node.js takes for a leak. */
const WAITING = 20;

describeOnSqlite('Many requests that wait', () => {
  let program: StartedProgram;

  beforeAll(async () => {
    program = await startProgram(join(ROOT, 'dist', 'main.js'));
  });
  afterAll(() => program.stop());

  it('are no reason for a warning', async () => {
    const { id } = await createAgent(program, { name: 'bot', capabilities: ['refund'] });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(program, { effect: 'require_approval', actions: ['refund'], approval });
    const body = { action: 'refund', resourceType: 'order', resourceId: 'orders/1' };
    const asked = await program.send('POST', `/api/v1/agents/${id}/execute`, { body });
    const waiting = Array.from({ length: WAITING }, () =>
      program.send('GET', `/api/v1/executions/${asked.body.id}?wait=1`),
    );
    const answers = await Promise.all(waiting);
    expect(answers.map((answer) => answer.body.outcome)).toEqual(Array(WAITING).fill('pending_approval'));
    expect(program.printed()).not.toContain('Warning');
  });
});
