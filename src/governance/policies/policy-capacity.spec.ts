import { capacityFault, policyExtent, type PolicyExtent, teamFault, totalsWith } from './policy-capacity';

const LIMITS = { maxPolicies: 20, maxPolicyText: 10_000 };
const CONDITION = { parameter: '/amount', op: 'lte', value: 1 } as const;

const ALLOW = {
  name: 'a',
  version: '1',
  effect: 'allow',
  subjects: ['*'],
  actions: ['pay'],
  resourceTypes: [],
  resources: ['*'],
  priority: 0,
  limits: [],
  onBehalfOf: [],
  approval: null,
} as const;

function policy(team: string | null, conditions: number): PolicyExtent {
  return policyExtent({ ...ALLOW, team, conditions: Array.from({ length: conditions }, () => CONDITION) });
}

describe('Policy capacity', () => {
  it('is the same however the policies in force came about', () => {
    const [own, first, second] = [policy(null, 2), policy('finance', 1), policy('finance', 3)];
    const steps = totalsWith(totalsWith(new Map(), [], [first, own, second, second]), [second, own], [own, own]);
    expect(steps).toEqual(totalsWith(new Map(), [], [own, own, first, second]));
    expect(steps.get('finance')).toMatchObject({ policies: 2, conditions: 4, patterns: 6 });
    expect(totalsWith(steps, [own, own, first, second], [])).toEqual(new Map());
  });

  it('is a tenth for a team, and nine tenths for all teams', () => {
    const teams = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
    const full = totalsWith(
      new Map(),
      [],
      teams.flatMap((team) => [policy(team, 0), policy(team, 0)]),
    );
    expect(teamFault(new Map(), full, LIMITS)).toBeUndefined();
    expect(capacityFault(new Map(), full, LIMITS, true)).toBeUndefined();
    const more = totalsWith(full, [], [policy('a', 0)]);
    expect(teamFault(full, more, LIMITS)).toBe(
      '3 policies of the team "a" in force are more than the 2, a tenth of the 20 that MAX_POLICIES allows.',
    );
    expect(capacityFault(full, more, LIMITS, true)).toBe(
      '19 policies in force are more than the 18, nine tenths of the 20 that MAX_POLICIES allows.',
    );
    expect(capacityFault(full, more, LIMITS)).toBeUndefined();
    expect(teamFault(more, totalsWith(more, [], [policy('b', 0)]), LIMITS)).toContain('the team "b"');
    expect(teamFault(more, totalsWith(more, [policy('a', 0)], [policy('a', 0)]), LIMITS)).toBeUndefined();
  });
});
