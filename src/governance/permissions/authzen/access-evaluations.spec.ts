import { evaluationOf, readParts } from './access-evaluations';

describe('readParts', () => {
  it('reads the roles of a subject, each once and only valid ones', () => {
    const roles = Array.from(
      { length: 9_000 },
      (_, index) => `role ${index % 1_000}${index % 2 === 0 ? '' : '\u200b'}`,
    );
    const subject = { type: 'user', id: 'alice', properties: { roles } };
    const rest = { action: { name: 'read' }, resource: { type: 'document', id: 'a' } };
    const valid = Array.from({ length: 500 }, (_, index) => `role ${2 * index}`);
    expect(evaluationOf(readParts({ subject, ...rest }))).toMatchObject({
      question: { who: { type: 'user', id: 'alice', roles: valid } },
    });
  });
});
