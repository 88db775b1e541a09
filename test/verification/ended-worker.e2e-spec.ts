import { createRequire } from 'node:module';
import { join } from 'node:path';
import { CHAIN_START } from '../../src/evidence/verification/chain-check';
import type * as hashers from '../../src/evidence/verification/chain-hasher';
import { ROOT } from '../support/documents/markdown';

/** A thread runs only compiled programs. */
const { openHasher } = createRequire(__filename)(
  join(ROOT, 'dist', 'evidence', 'verification', 'chain-hasher.js'),
) as typeof hashers;

describe('The thread that checks the chain', () => {
  it('fails calls after its end, instead of leaving them unanswered', async () => {
    const order = {
      previous: CHAIN_START,
      head: CHAIN_START,
      entriesBeyond: 0,
      columns: [],
      restored: new Set<number>(),
    };
    const hasher = openHasher({ ...order, sizes: null });
    expect(await hasher.check('[]')).toMatchObject({ valid: true, entriesVerified: 0 });
    await hasher.close();
    await expect(hasher.check('[]')).rejects.toThrow('has ended');
    await expect(hasher.check('[]')).rejects.toThrow('has ended');
  });
});
