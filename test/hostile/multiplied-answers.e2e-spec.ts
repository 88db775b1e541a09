import { join } from 'node:path';
import { ROOT } from '../support/documents/markdown';
import { faults } from '../support/application/send';
import { type StartedProgram, startProgram } from '../support/processes/started-program';

/** Little memory, so that what multiplies a request cannot go unnoticed. */
const LITTLE_MEMORY = { NODE_OPTIONS: '--max-old-space-size=192', RATE_LIMIT: '1000000' };
/** With some eighty faults. */
const FAULTY_POLICY = {
  approval: { approvers: Array(10).fill({}), grant: {} },
  conditions: Array(20).fill({}),
  limits: Array(5).fill({}),
  subjects: Array(5).fill(0),
};
const READ = { action: 'read', resourceType: 'document', resourceId: 'a' };

/** A small request that the answers, or the work on them, could multiply beyond the memory of the process. */
describe('What a small request asks for many times over', () => {
  let program: StartedProgram;

  beforeAll(async () => {
    program = await startProgram(join(ROOT, 'dist', 'main.js'), LITTLE_MEMORY);
  });
  afterAll(async () => {
    expect((await program.send('GET', '/api/v1/health')).status).toBe(200);
    expect(await program.stop()).toBe(0);
  });

  it('is refused before anything is built from it: bodies of very many small values', async () => {
    const body = `{"type":"a","name":"b","properties":{"x":[${'[[]],'.repeat(200_000)}1]}}`;
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => program.send('POST', '/api/v1/entities', { body })),
    );
    for (const answer of answers) expect([answer.status, Object.keys(faults(answer))]).toEqual([400, ['body']]);
  });

  it('is read once: the roles of a subject that all evaluations share', async () => {
    const roles = Array.from({ length: 9_000 }, (_, index) => `r${index % 10}`);
    const body = {
      subject: { type: 'user', id: 'alice', properties: { roles } },
      ...{ action: { name: 'read' }, resource: { type: 'document', id: 'a' } },
      evaluations: Array(1_000).fill({}),
    };
    const answer = await program.send('POST', '/access/v1/evaluations', { body });
    expect(answer.status).toBe(200);
    expect(answer.body.evaluations).toHaveLength(1_000);
  });

  it.each<readonly [string, string, object]>([
    ['policies', '/api/v1/policies/plan', { policies: Array(10_000).fill(FAULTY_POLICY) }],
    ['unknown members', '/api/v1/policies/plan', { policies: Array(10_000).fill(withMembers(48)) }],
    ['questions', '/api/v1/policies/evaluate', { requests: Array(1_000).fill(withMembers(60)) }],
  ])('is looked at only until there are enough faults: %s', async (_what, path, body) => {
    const answers = await Promise.all([1, 2, 3].map(() => program.send('POST', path, { body })));
    for (const { status, body: refusal } of answers) {
      expect([status, refusal.error.message.length < 2_000]).toEqual([400, true]);
      expect(refusal.error.details.length).toBeLessThanOrEqual(1_000);
      expect(refusal.error.message).toMatch(/; and at least \d{3,4} more\.$/);
    }
  });

  it('is shown once and shortened: the name of an unknown member, wherever it stands', async () => {
    const name = 'k'.repeat(400_000);
    const body = { name: 'a', version: '1', effect: 'allow', [name]: 1, approval: { [name]: 1, 'a\nb': 1 } };
    const answer = await program.send('POST', '/api/v1/policies', { body });
    const shortName = `${'k'.repeat(100)}…`;
    expect(Object.keys(faults(answer))).toEqual(
      expect.arrayContaining([shortName, `approval.${shortName}`, 'approval["a\\nb"]']),
    );
    expect(JSON.stringify(answer.body).length).toBeLessThan(10_000);
  });

  const live = async (): Promise<boolean> => {
    expect((await program.send('GET', '/api/v1/health/live')).status).toBe(200);
    return false;
  };

  it('lets others be answered meanwhile: patterns of which each takes long to check', async () => {
    const pattern = `https://h/${'%C3%A9'.repeat(70)}`;
    const policies = Array.from({ length: 100 }, (_, index) => ({
      ...{ name: `p${index}`, version: '1', effect: 'allow', subjects: ['*'], actions: ['read'] },
      resources: Array.from({ length: 100 }, (__, nth) => `${pattern}${index}/${nth}`),
    }));
    // Refused as soon as all are checked: planning would be done in another process.
    const planned = program.send('POST', '/api/v1/policies/plan', { body: { policies: [...policies, {}] } });
    let answeredMeanwhile = 0;
    const ended = planned.then(() => true);
    while (!(await Promise.race([ended, live()]))) answeredMeanwhile += 1;
    expect((await planned).status).toBe(400);
    expect(answeredMeanwhile).toBeGreaterThan(20);
  });

  it.each<[where: string, group: (subjects: string[]) => object]>([
    ['', (subjects) => ({ subjects })],
    [' of escalations', (subjects) => ({ subjects: subjects.slice(0, 1), escalate: { after: 'PT1H', subjects } })],
  ])('is refused where each answer names thousands of approvers%s', async (where, group) => {
    const subjects = (index: number): string[] =>
      Array.from({ length: 100 }, (_, nth) => `role:${index}-${nth}-${where}`.padEnd(480, 'x'));
    const approval = { approvers: Array.from({ length: 10 }, (_, index) => group(subjects(index))) };
    const policy = { name: 'large', version: `1${where}`, effect: 'require_approval', approval };
    const everything = { subjects: ['*'], actions: ['*'], resources: ['*'] };
    await program.send('POST', '/api/v1/policies', { body: { ...policy, ...everything } });

    const evaluate = { subject: {}, ...READ, requests: Array(1_000).fill({}) };
    const evaluated = await program.send('POST', '/api/v1/policies/evaluate', { body: evaluate });
    expect([evaluated.status, Object.keys(faults(evaluated))]).toEqual([400, ['requests']]);
    const evaluations = {
      ...{ subject: { type: 'user', id: 'x' }, action: { name: 'read' }, resource: { type: 'document', id: 'a' } },
      evaluations: Array(1_000).fill({}),
    };
    const decided = await program.send('POST', '/access/v1/evaluations', { body: evaluations });
    expect([decided.status, Object.keys(faults(decided))]).toEqual([400, ['evaluations']]);

    const few = { ...evaluate, requests: Array(10).fill({}) };
    expect((await program.send('POST', '/api/v1/policies/evaluate', { body: few })).body.results).toHaveLength(10);
  });

  it('waits its turn, or is refused: the policies of an earlier time, of which each question needs all', async () => {
    const body = { base: '', policies: manyPolicies() };
    body.base = (await program.send('POST', '/api/v1/policies/plan', { body: { policies: [] } })).body.base;
    expect((await program.send('POST', '/api/v1/policies/apply', { body })).status).toBe(200);
    const { data } = (await program.send('GET', '/api/v1/provenance?order=desc&limit=1')).body;
    const question = { subject: {}, ...READ, asOf: data[0].sequence };
    const requests = Array.from({ length: 40 }, () =>
      program.send('POST', '/api/v1/policies/evaluate', { body: question }),
    );
    const answers = await Promise.all(requests);
    const [successes, refused] = [200, 503].map((status) => answers.filter((answer) => answer.status === status));
    expect((successes?.length ?? 0) + (refused?.length ?? 0)).toBe(40);
    expect(successes).not.toEqual([]);
    expect(refused).not.toEqual([]);
    for (const { body: answer } of successes ?? [])
      expect(answer.policies).toEqual([expect.objectContaining({ name: 'large' })]);
    for (const { headers } of refused ?? []) expect(headers.get('retry-after')).toBe('5');
  });
});

function manyPolicies(): object[] {
  return Array.from({ length: 1_000 }, (_, index) => ({
    ...{ name: `policy-${index}`, version: '1', effect: 'allow', subjects: ['*'], actions: ['read'] },
    resources: Array.from({ length: 20 }, (__, nth) => `area-${index}/${nth}/${'x'.repeat(40)}`),
  }));
}

function withMembers(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`member${index}`, 1]));
}
