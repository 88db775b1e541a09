import { Slices } from '../shared/slices';
import { evaluationOf, readPartsInSlices } from './access-evaluation';

describe('readPartsInSlices', () => {
  it('gives way to others while it reads the roles of a subject, each once and only valid ones', async () => {
    const roles = Array.from(
      { length: 300_000 },
      (_, index) => `role ${index % 1_000}${index % 2 === 0 ? '' : '\u200b'}`,
    );
    let turns = 0;
    let isOver = false;
    const countTurns = (): void => {
      turns += 1;
      if (!isOver) setImmediate(countTurns);
    };
    setImmediate(countTurns);
    const subject = { type: 'user', id: 'alice', properties: { roles } };
    const rest = { action: { name: 'read' }, resource: { type: 'document', id: 'a' } };
    const read = evaluationOf(await readPartsInSlices({ subject, ...rest }, new Slices()));
    isOver = true;
    expect(turns).toBeGreaterThan(1);
    const valid = Array.from({ length: 500 }, (_, index) => `role ${2 * index}`);
    expect(read).toMatchObject({ question: { who: { type: 'user', id: 'alice', roles: valid } } });
  });
});
