import * as fc from 'fast-check';
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { PolicySetHash } from './policy-set-hash';

function hashOf(ids: Iterable<string>): string {
  return createHash('sha256')
    .update(canonicalJson([...ids].sort()))
    .digest('hex');
}

const id = fc.nat({ max: 700 }).map((number) => `pol_${String(number).padStart(4, '0')}`);

describe('PolicySetHash', () => {
  it('has the hash of the sorted ids after any additions and removals', () => {
    const step = fc.record({ id, adds: fc.boolean(), others: fc.array(id, { maxLength: 60, size: 'max' }) });
    fc.assert(
      fc.property(fc.uniqueArray(id, { maxLength: 600, size: 'max' }), fc.array(step), (first, steps) => {
        const set = new PolicySetHash();
        const ids = new Set(first);
        set.change(first, []);
        for (const { id: changed, adds, others } of steps) {
          const [added, removed] = adds ? [[changed], others] : [others, [changed]];
          const then = new Set([...ids].filter((each) => !removed.includes(each)).concat(added));
          expect(set.hashWith(added, removed)).toBe(hashOf(then));
          set.change(added, removed);
          ids.clear();
          then.forEach((each) => ids.add(each));
          expect([set.size, set.hash]).toEqual([ids.size, hashOf(ids)]);
        }
      }),
      { numRuns: 60 },
    );
  });
});
