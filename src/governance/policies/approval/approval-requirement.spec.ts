import { type ApprovalRequirement, type ApproverGroup, combinedRequirement, isTooLarge } from './approval-requirement';

const FIRST: ApprovalRequirement = {
  riskLevel: 'low',
  approvers: [{ subjects: ['role:a', 'role:b'], approvals: 1 }],
  decideWithin: 'PT24H',
  executeWithin: 'PT1H',
};

describe('Requirements', () => {
  it('are combined: equal sets merged into the first, the highest risk, the shortest durations', () => {
    const second: ApprovalRequirement = {
      riskLevel: 'high',
      approvers: [
        { subjects: ['role:c'], approvals: 2 },
        { subjects: ['role:b', 'role:a', 'role:b'], approvals: 3 },
      ],
      decideWithin: 'P1D',
      executeWithin: 'PT59M',
    };
    expect(combinedRequirement([FIRST, second])).toEqual({
      riskLevel: 'high',
      approvers: [
        { subjects: ['role:a', 'role:b'], approvals: 3 },
        { subjects: ['role:c'], approvals: 2 },
      ],
      // Both are as long: the older one keeps its text.
      decideWithin: 'PT24H',
      executeWithin: 'PT59M',
    });
  });

  it('also merge equal groups of one policy', () => {
    const approvers = [...FIRST.approvers, { subjects: ['role:b', 'role:a'], approvals: 2 }];
    expect(combinedRequirement([{ ...FIRST, approvers }])?.approvers).toEqual([
      { subjects: ['role:a', 'role:b'], approvals: 2 },
    ]);
  });

  const groups = (count: number, approvals: number): ApprovalRequirement[] =>
    Array.from({ length: count }, (_, index) => {
      const group: ApproverGroup = { subjects: [`role:${String(index)}`], approvals };
      return { ...FIRST, approvers: [group] };
    });
  const combined = (all: readonly ApprovalRequirement[]): ApprovalRequirement => combinedRequirement(all) ?? FIRST;

  it.each([
    [50, 4, false],
    [51, 1, true],
    [20, 10, false],
    [21, 10, true],
    [1_000, 1, true],
  ])('of %i groups of %i approvals are too large: %p', (count, approvals, is) => {
    expect(isTooLarge(combined(groups(count, approvals)))).toBe(is);
    expect(isTooLarge(combined([...groups(count, approvals), ...groups(count, 1)]))).toBe(is);
  });
});
