import { AGENTS, faultsOf } from '../../../../test/support/oracles/plan-oracle';
import {
  ENCODED_PATTERNS,
  planned,
  Random,
  randomPolicies,
  RESOURCE_PATTERNS,
  rules,
  TYPES,
} from '../../../../test/support/oracles/random-policies';
import { CellVerdicts } from './cell-verdicts';
import type { PlannedPolicy } from './planned-match';
import { policyEffects } from './policy-effects';

/** Number of policy sets; PLAN_SETS=10000 is the full test. */
const SETS = Number(process.env['PLAN_SETS'] ?? 4);
jest.setTimeout(300_000 + 5_000 * SETS);

const CYCLE = ['allow', 'deny', 'require_approval'] as const;
const VIP = { parameter: '/vip', op: 'eq', value: true } as const;
const CLERKS = Array.from({ length: 100 }, (_, index) => `role:clerk-${index}`);

function approvalOf(subject: string): PlannedPolicy['approval'] {
  const approvers = [{ subjects: [subject], approvals: 1 }];
  return { riskLevel: 'low', approvers, decideWithin: 'P1D', executeWithin: 'PT1H' };
}

it(`agrees with brute force on ${SETS} sets of policies: no region is wrong, overlaps another, or is missing`, () => {
  for (let seed = 1; seed <= SETS; seed += 1) {
    const policies = randomPolicies(new Random(seed));
    const { effects, reason } = policyEffects(policies, AGENTS, 60_000);
    expect({ seed, reason }).toEqual({ seed, reason: null });
    const faults = [...faultsOf(policies, effects)];
    expect({ seed, faults: faults.slice(0, 3), policies: faults.length > 0 ? policies : [] }).toEqual({
      seed,
      faults: [],
      policies: [],
    });
  }
});

it('agrees with brute force where policies are of a team', () => {
  for (let seed = 1; seed <= SETS; seed += 1) {
    const random = new Random(seed);
    const policies = randomPolicies(random).map((policy) => ({
      ...policy,
      team: random.of([null, null, 'red', 'blue']),
    }));
    const { effects, reason } = policyEffects(policies, AGENTS, 60_000);
    const faults = [...faultsOf(policies, effects)];
    expect({ seed, reason, faults: faults.slice(0, 3) }).toEqual({ seed, reason: null, faults: [] });
  }
});

it('makes no false statement about percent-encoded allows, and says whether it is complete', () => {
  let incomplete = 0;
  for (let seed = 1; seed <= SETS / 4; seed += 1) {
    const policies = randomPolicies(new Random(seed), {
      resources: [...RESOURCE_PATTERNS, ...ENCODED_PATTERNS, ...ENCODED_PATTERNS],
      types: [...TYPES, 'c%20d'],
    });
    const { effects, reason } = policyEffects(policies, AGENTS, 60_000);
    if (reason !== null) incomplete += 1;
    const faults = [...faultsOf(policies, effects)].filter((fault) => reason === null || !fault.startsWith('missing'));
    expect({ seed, faults: faults.slice(0, 3) }).toEqual({ seed, faults: [] });
  }
  expect(incomplete).toBeGreaterThan(0);
});

it('is incomplete where one percent-encoded allow may hide the effect of another', () => {
  const policies = [
    planned({ ...rules('allow'), name: 'hiding', resources: ['c%20d/*'], priority: 1 }, 'both'),
    planned({ ...rules('allow'), name: 'new', id: 'pol_1', resources: ['c d/e%20f'], resourceTypes: ['c d'] }, 'after'),
  ];
  const { effects, reason } = policyEffects(policies, AGENTS, 60_000);
  expect([...faultsOf(policies, effects)]).not.toEqual([]);
  expect(reason).toContain('percent-encoded');
});

it('is complete where a percent-encoded allow decides nothing, as others of a higher priority do', () => {
  const policies = [
    planned({ ...rules('allow'), name: 'everything', priority: 1 }, 'both'),
    planned({ ...rules('allow'), name: 'outranked', id: 'pol_1', resources: ['c%20d/*'] }, 'both'),
    planned({ ...rules('deny'), name: 'new', id: 'pol_2', resources: ['c d/*'], priority: 1 }, 'after'),
  ];
  const { effects, reason } = policyEffects(policies, AGENTS, 60_000);
  expect(reason).toBeNull();
  expect([...faultsOf(policies, effects)]).toEqual([]);
  expect(effects.length).toBeGreaterThan(0);
});

it('says what kind of policies are too many in one place', () => {
  const encoded = { ...rules('allow'), resources: ['c%20d/*'] };
  const policies = Array.from({ length: 9 }, (_, index) =>
    planned({ ...encoded, id: `pol_${index}`, name: `encoded ${index}` }, index === 8 ? 'after' : 'both'),
  );
  expect(policyEffects(policies, [], 60_000).reason).toBe(
    'More than 8 policies meet in one place that have conditions, or are allows with percent-encoded patterns.',
  );
});

it('shows what a new policy allows, in terms of its patterns', () => {
  const base = { ...rules('deny'), resources: ['invoices/closed/*'], priority: 1 };
  const policies = [
    planned(base, 'both'),
    planned({ ...rules('allow'), name: 'new', resources: ['invoices/*'] }, 'after'),
  ];
  const { effects, reason } = policyEffects(policies, [], 1_000);
  expect(reason).toBeNull();
  const common = {
    from: { effect: 'no_policy' },
    to: { effect: 'allow' },
    subjects: ['other:machine', 'other:human'],
    actions: { in: ['*'], except: [] },
    when: { hold: [], fail: [] },
    because: { from: [], to: [{ id: null, name: 'new', version: '1' }] },
  };
  const below = { in: ['invoices/*'], except: ['invoices/closed/*'] };
  expect(effects).toEqual([
    { ...common, resourceTypes: { in: ['*'], except: ['invoices'] }, resources: below },
    {
      ...common,
      resourceTypes: { in: ['invoices'], except: [] },
      // Without a "/", an id also counts after its type. After it, what the deny names begins with "closed/".
      resources: { in: ['+', 'invoices/*'], except: ['invoices/closed/*'] },
    },
  ]);
});

it('names roles and names that policies list and no agent has', () => {
  const agents = [{ agentId: 'agt_1', agentName: 'bot', kind: 'machine', roles: ['r'] }] as const;
  const subjects = ['role:r', 'role:support', 'agent:reporter', 'gone', 'bot', 'user:x', 'agent:a/b', 'role:*'];
  const added = planned({ ...rules('allow'), name: 'new', subjects }, 'after');
  const [effect, ...others] = policyEffects([added], agents, 1_000).effects;
  expect(others).toEqual([]);
  expect([...(effect?.subjects ?? [])].sort()).toEqual([
    'agt_1',
    'other:agent:gone',
    'other:agent:reporter',
    'other:role:support',
  ]);
});

it('names for each region the policies that decide there, not those of others with the same change', () => {
  const policies = [
    planned({ ...rules('allow'), name: 'base' }, 'both'),
    planned({ ...rules('deny'), name: 'outer', id: 'pol_1', resources: ['a/*'] }, 'after'),
    planned({ ...rules('deny'), name: 'middle', id: 'pol_2', resources: ['a/b/*'], priority: 1 }, 'both'),
    planned({ ...rules('allow'), name: 'inner', id: 'pol_3', resources: ['a/b/c/*'], priority: 2 }, 'both'),
    planned({ ...rules('deny'), name: 'innermost', id: 'pol_4', resources: ['a/b/c/*'], priority: 3 }, 'after'),
  ];
  const { effects } = policyEffects(policies, AGENTS, 60_000);
  const labels = effects
    .filter(({ resourceTypes }) => resourceTypes.in.includes('*'))
    .map(({ resources, because }) => [resources.in, because.from.map(nameOf), because.to.map(nameOf)]);
  expect(labels).toEqual([
    [['a/*'], ['base'], ['outer']],
    [['a/b/c/*'], ['inner'], ['innermost']],
  ]);
  expect([...faultsOf(policies, effects)]).toEqual([]);
});

it('names ten of the policies that decide in a region', () => {
  const policies = Array.from({ length: 12 }, (_, index) =>
    planned({ ...rules('deny'), name: `p${index}`, id: `pol_${index}` }, 'after'),
  );
  const { effects, reason } = policyEffects(policies, [], 60_000);
  expect(reason).toBeNull();
  expect(effects.map(({ because: { from, to } }) => [from.length, to.length])).toEqual([[0, 10]]);
});

it('is not all when the approvers that its regions repeat would fill the memory', () => {
  const long = 'x'.repeat(400);
  const approvers = Array.from({ length: 10 }, (_, group) => ({
    subjects: Array.from({ length: 100 }, (__, index) => `role:${group}-${index}-${long}`),
    approvals: 1,
  }));
  const approval = { riskLevel: 'low', approvers, decideWithin: 'P1D', executeWithin: 'PT1H' } as const;
  const requiring = planned({ ...rules('require_approval'), approval, actions: ['read'] }, 'after');
  const apart = Array.from({ length: 100 }, (_, index) =>
    planned({ ...rules('allow'), name: `p${index}`, id: `pol_${index}`, priority: -index }, 'both'),
  ).map((policy, index) => ({ ...policy, resources: [`a/${index}`], resourceTypes: [`t${index}`] }));
  const { effects, reason } = policyEffects([requiring, ...apart], AGENTS, 60_000);
  expect(reason).toContain('would name too many');
  expect(effects).not.toEqual([]);
  expect(JSON.stringify(effects).length).toBeLessThan(20 * 1024 * 1024);
});

it('is incomplete after its time limit, but true', () => {
  const policies = Array.from({ length: 40 }, (_, index) => randomPolicies(new Random(index + 1)))
    .flat()
    .map((policy, index) => ({
      ...policy,
      id: `pol_${String(index).padStart(5, '0')}`,
      name: `p${index}`,
      conditions: [],
      limits: [],
    }));
  const { effects, reason } = policyEffects(policies, AGENTS, 0);
  expect(reason).toContain('PLAN_TIMEOUT');
  expect([...faultsOf(policies, effects)].filter((fault) => !fault.startsWith('missing'))).toEqual([]);
});

it.each([
  [
    'share a condition',
    (index: number) => ({ effect: CYCLE[index % 2] ?? 'deny', priority: index % 7, conditions: [VIP] }),
  ],
  [
    'each have a priority',
    (index: number) => ({ effect: CYCLE[index % 2] ?? 'deny', priority: -index, conditions: [VIP] }),
  ],
  [
    'require approvals of others',
    (index: number) => ({ effect: CYCLE[2], approval: approvalOf(`role:${index % 60}`) }),
  ],
  ['each match fewer subjects', (index: number) => ({ effect: CYCLE[2], subjects: CLERKS.slice(index % 100) })],
])('ends for 4,000 policies in one place that %s', (_, variant) => {
  const policies = Array.from({ length: 4_000 }, (__, index) =>
    planned({ ...rules('allow'), name: `p${index}`, id: idAt(index), ...variant(index) }, 'after'),
  );
  const { effects, reason } = policyEffects(policies, AGENTS, 60_000);
  expect(reason).toBeNull();
  expect(effects).not.toEqual([]);
});

it('is incomplete for want of memory when a comparison exceeds a size', () => {
  jest.spyOn(CellVerdicts.prototype, 'all').mockImplementationOnce(() => {
    throw new RangeError('Maximum call stack size exceeded');
  });
  expect(policyEffects([planned(rules('allow'), 'after')], AGENTS, 60_000)).toEqual({
    effects: [],
    reason: 'The plan needed too much memory.',
  });
});

function idAt(index: number): string {
  return `pol_${String(index).padStart(5, '0')}`;
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
