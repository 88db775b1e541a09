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
  it('fails what it is asked after it has ended, instead of leaving it unanswered', async () => {
    const hasher = openHasher({ previous: CHAIN_START, sizes: null, columns: [], restored: new Set() });
    await hasher.ask({ entries: '[]' });
    await hasher.close();
    await expect(hasher.ask({ entries: '[]' })).rejects.toThrow('has ended');
    await expect(hasher.ask({ head: CHAIN_START })).rejects.toThrow('has ended');
  });
});
