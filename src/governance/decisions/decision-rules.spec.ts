import type { Decision, Review } from './decision.entity';
import { decisionResource, withStatus, isExpired, withReview } from './decision-rules';

const MOMENT = '2026-11-20T06:18:03.123Z';

const PROPOSED: Decision = {
  id: 'dec_1',
  createdSequence: 1,
  type: 'deployment',
  title: 'Deploy',
  description: '',
  context: {},
  proposedBy: 'agt_1',
  riskLevel: 'low',
  status: 'proposed',
  requiredApprovals: 2,
  reviews: [],
  expiresAt: MOMENT,
  createdAt: '2026-11-20T06:00:00.000Z',
  updatedAt: '2026-11-20T06:00:00.000Z',
  resolvedAt: null,
  executionId: null,
  actionHash: null,
  approvers: null,
  executeWithin: null,
  onBehalfOf: null,
  run: null,
  erased: false,
  grant: null,
  traceId: null,
  change: null,
  actor: null,
  escalatesAt: null,
};

const review = (verdict: Review['verdict'], approverId: string): Review => ({
  approverId,
  verdict,
  comment: null,
  createdAt: MOMENT,
});

describe('A decision', () => {
  it.each([
    ['2026-11-20T06:18:03.122Z', false],
    [MOMENT, true],
    ['2026-11-20T06:18:03.124Z', true],
  ])('expires at its very moment, not before: at %s it is %p', (now, is) => {
    expect(isExpired(PROPOSED, now)).toBe(is);
  });

  it('that never expires or is settled does not expire', () => {
    expect(isExpired({ ...PROPOSED, expiresAt: null }, MOMENT)).toBe(false);
    for (const status of ['approved', 'rejected', 'expired'] as const) {
      expect(isExpired({ ...PROPOSED, status }, MOMENT)).toBe(false);
    }
  });

  it('is approved by the last needed approval, and rejected by the first rejection', () => {
    const once = withReview(PROPOSED, review('approve', 'agt_2'));
    expect(once).toMatchObject({ status: 'proposed', resolvedAt: null, updatedAt: MOMENT });
    expect(withReview(once, review('approve', 'agt_3'))).toMatchObject({ status: 'approved', resolvedAt: MOMENT });
    expect(withReview(once, review('reject', 'agt_3'))).toMatchObject({ status: 'rejected', resolvedAt: MOMENT });
    expect(PROPOSED.reviews).toEqual([]);
  });

  it('that expires is resolved at that time', () => {
    expect(withStatus(PROPOSED, 'expired', MOMENT)).toEqual({
      ...PROPOSED,
      status: 'expired',
      updatedAt: MOMENT,
      resolvedAt: MOMENT,
    });
  });

  it.each([
    ['deployment', 'decisions/low/deployment'],
    ['a/b//c', 'decisions/low/a_b__c'],
    ['/', 'decisions/low/_'],
    ['.', 'decisions/low/_'],
    ['..', 'decisions/low/_'],
    ['...', 'decisions/low/...'],
    ['../x', 'decisions/low/.._x'],
  ])('of the type %s is the resource %s to policies', (type, resource) => {
    expect(decisionResource({ riskLevel: 'low', type })).toBe(resource);
  });
});
