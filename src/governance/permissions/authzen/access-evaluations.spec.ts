import { TimeSlice } from '../../../core/concurrency/time-slice';
import { listedEvaluations, parseEvaluation, readParts } from './access-evaluations';

const REST = { action: { name: 'read' }, resource: { type: 'document', id: 'a' } };
const ALICE = { type: 'user', id: 'alice' };

describe('readParts', () => {
  it('reads the roles of a subject, each once and only valid ones', () => {
    const roles = Array.from(
      { length: 9_000 },
      (_, index) => `role ${index % 1_000}${index % 2 === 0 ? '' : '\u200b'}`,
    );
    const subject = { ...ALICE, properties: { roles } };
    const valid = Array.from({ length: 500 }, (_, index) => `role ${2 * index}`);
    expect(parseEvaluation(readParts({ subject, ...REST }))).toMatchObject({
      question: { who: { type: 'user', id: 'alice', roles: valid } },
    });
  });

  const BOT = { agent: 'bot', field: 'context.agent' };

  it.each([
    ['without roles', ALICE, { subject: 'user:alice', roles: undefined }],
    ['with roles', { ...ALICE, properties: { roles: ['a', 'b'] } }, { subject: 'user:alice', roles: ['a', 'b'] }],
    ['with no roles', { ...ALICE, properties: { roles: [] } }, { subject: 'user:alice', roles: [] }],
    [
      'that is a person',
      { type: 'agent', id: 'ann', properties: { roles: ['a'] } },
      { subject: 'agent:ann', roles: undefined },
    ],
  ])('reads a subject %s as the principal of the agent in the context', (_what, subject, onBehalfOf) => {
    expect(parseEvaluation(readParts({ subject, ...REST, context: { agent: 'bot', run: 'r' } }))).toMatchObject({
      question: { who: BOT, onBehalfOf: { ...onBehalfOf, field: 'subject' } },
    });
  });

  it.each([
    ...['role', 'kind', 'principal', 'a:b', ''].map((type) => ({ type, id: 'x' })),
    { ...ALICE, properties: { roles: ['a', 'a'] } },
    { ...ALICE, properties: { roles: [' b'] } },
    { ...ALICE, properties: { roles: Array.from({ length: 51 }, (_, index) => `${index}`) } },
  ])('takes %j for no principal', (subject) => {
    const read = parseEvaluation(readParts({ subject, ...REST, context: { agent: 'bot' } }));
    expect(read).toEqual({ invalid: 'subject_invalid', who: BOT });
  });

  it('takes null in the context as left out, and reports what is wrong with it', () => {
    const evaluation = { subject: ALICE, ...REST };
    const plain = parseEvaluation(readParts(evaluation));
    expect(parseEvaluation(readParts({ ...evaluation, context: { agent: null, run: null, time: 1 } }))).toEqual(plain);
    for (const run of [1, '', 'x'.repeat(201), 'a\n', 'a\u200b'])
      expect(parseEvaluation(readParts({ ...evaluation, context: { run } }))).toMatchObject({
        faults: [{ field: 'context.run' }],
      });
    expect(parseEvaluation(readParts({ ...evaluation, context: { agent: ['bot'], run: 'r' } }))).toEqual({
      faults: [{ field: 'context.agent', message: 'must be a string' }],
    });
  });
});

it('serves others between the evaluations of a list', async () => {
  jest.spyOn(TimeSlice.prototype, 'isOver', 'get').mockReturnValue(true);
  const begun = TimeSlice.begun;
  const evaluations = Array.from({ length: 20 }, (_, index) => ({
    resource: { type: 'document', id: `a/x%20${index}` },
  }));
  const parsed = await listedEvaluations({ subject: ALICE, ...REST, evaluations: [...evaluations, 'none'] });
  jest.restoreAllMocks();
  expect(parsed.map((evaluation) => Object.keys(evaluation))).toEqual([
    ...evaluations.map(() => ['question']),
    ['faults'],
  ]);
  expect(TimeSlice.begun - begun).toBe(21);
});
