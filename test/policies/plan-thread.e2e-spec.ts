import { join } from 'node:path';
import { ROOT } from '../support/documents/markdown';
import type { Answer } from '../support/application/send';
import { startProgram, type StartedProgram } from '../support/processes/started-program';

/** Policies with many patterns, each of them changed: more than the thread may hold. */
const HUGE = 10_000;
const ONE = { name: 'one', version: '1', effect: 'allow', subjects: ['*'], actions: ['read'], resources: ['a'] };

describe('The thread that compares policies, in the built program', () => {
  let program: StartedProgram;

  beforeAll(async () => {
    program = await startProgram(join(ROOT, 'dist', 'main.js'));
  });
  afterAll(() => program.stop());

  const plan = (policies: readonly object[]): Promise<Answer> =>
    program.send('POST', '/api/v1/policies/plan', { body: { policies } });

  it('answers', async () => {
    const { body } = await plan([ONE]);
    expect(body).toMatchObject({ complete: true, reason: null, effects: [{ to: { effect: 'allow' } }] });
  });

  it('that runs out of memory says so, and the service and the next plan go on', async () => {
    const answer = await plan(huge());
    expect(answer).toMatchObject({ status: 200, body: { complete: false } });
    expect(answer.body.reason).toBe('The plan needed too much memory.');
    expect(answer.body.changes).toHaveLength(HUGE);
    expect((await program.send('GET', '/api/v1/health')).status).toBe(200);
    expect((await plan([ONE])).body.complete).toBe(true);
  });
});

/** Each pattern is small, but a million of them are not. */
function huge(): object[] {
  return Array.from({ length: HUGE }, (_, index) => ({
    ...ONE,
    name: `huge-${index}`,
    resources: Array.from({ length: 100 }, (__, resource) => `${index}/${resource}`),
  }));
}
