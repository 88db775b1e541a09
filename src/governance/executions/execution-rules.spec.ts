import { canonicalJson } from '../../ledger/chain/canonical-json';
import { sha256 } from '../../ledger/chain/hash-chain';
import { actionHash, actionHasher } from './execution-rules';

const ACTION = { agentId: 'agt_1', action: 'pay', resourceType: 'invoice' };

describe('The hash of an action', () => {
  it.each([null, { subject: 'user:1' }, { subject: 'user:1', roles: ['b', 'a'] }])(
    'is that of its RFC 8785 form, on behalf of %j',
    (onBehalfOf) => {
      const parts = { ...ACTION, resourceId: 'a "b"/é', parameters: { z: 1, a: { y: ['ü'], b: null } } };
      const form = canonicalJson({ ...parts, ...(onBehalfOf !== null && { onBehalfOf }) });
      expect(actionHash({ ...parts, onBehalfOf })).toBe(sha256(form));
    },
  );

  it('is found for many resources and principals with the parameters read once', () => {
    let reads = 0;
    const parameters = {
      get amount(): number {
        reads += 1;
        return 5;
      },
    };
    const hashOf = actionHasher({ ...ACTION, parameters });
    expect(reads).toBe(0);
    hashOf({ resourceId: 'a', onBehalfOf: null });
    const ofOne = reads;
    for (const resourceId of ['a', 'b', 'c'])
      for (const onBehalfOf of [null, { subject: 'user:1' }, { subject: 'user:1', roles: ['a'] }])
        expect(hashOf({ resourceId, onBehalfOf })).toBe(
          actionHash({ ...ACTION, parameters: { amount: 5 }, resourceId, onBehalfOf }),
        );
    expect(reads).toBe(ofOne);
  });
});
