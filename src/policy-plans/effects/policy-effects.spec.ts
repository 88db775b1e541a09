import { AGENTS, faultsOf } from '../../../test/support/oracles/plan-oracle';
import type { PlannedPolicy } from './effect';
import { policyEffects } from './policy-effects';

/** Number of policy sets; PLAN_SETS=10000 is the full test. */
const SETS = Number(process.env['PLAN_SETS'] ?? 25);

const TYPES = ['a', 'b', 'doc', 'other', 'c d'];
const ACTION_PATTERNS = ['*', 'send-*', 'send-mail*', 'send-mail', 'read', 's*', 'x'];
const RESOURCE_PATTERNS = [
  ...[
    '*',
    'a',
    '/a',
    '/+',
    'b/*',
    'a/*',
    'a/b',
    'a/b/*',
    'a/b/c',
    'b/c',
    'doc/*',
    'doc/a/*',
    'doc/b',
    'c/*',
    'b/c/*',
    'b/b',
  ],
  ...['https://h/*', 'https://h/a', 'https://h/a/*', 's3://a/*'],
  ...['c d', 'a/c d', 'c d/*', 'c d/e f', 'a:b', 'https://h/c:d', 'https://h/c:d/*'],
];
/** An allow written in this way is for that spelling only. */
const ENCODED_PATTERNS = ['c%20d', 'a/c%2520d', 'c%20d/*', 'c d/e%20f', 'https://h/c%3Ad'];
const SUBJECTS = [
  '*',
  'agent:*',
  'kind:human',
  'kind:machine',
  'role:*',
  'role:r',
  'role:s',
  'bot',
  'agent:ann',
  'user:x',
];

it(`agrees with brute force on ${SETS} sets of policies: no region is wrong, overlaps another, or is missing`, () => {
  for (let seed = 1; seed <= SETS; seed += 1) {
    const policies = randomPolicies(new Random(seed));
    const { effects, reason } = policyEffects({ policies, agents: AGENTS, timeout: 60_000 });
    expect({ seed, reason }).toEqual({ seed, reason: null });
    const faults = [...faultsOf(policies, effects)];
    expect({ seed, faults: faults.slice(0, 3), policies: faults.length > 0 ? policies : [] }).toEqual({
      seed,
      faults: [],
      policies: [],
    });
  }
});

it('makes no false statement about percent-encoded allows, and says whether it is complete', () => {
  let incomplete = 0;
  for (let seed = 1; seed <= SETS / 4; seed += 1) {
    const policies = randomPolicies(new Random(seed), {
      resources: [...RESOURCE_PATTERNS, ...ENCODED_PATTERNS, ...ENCODED_PATTERNS],
      types: [...TYPES, 'c%20d'],
    });
    const { effects, reason } = policyEffects({ policies, agents: AGENTS, timeout: 60_000 });
    if (reason !== null) incomplete += 1;
    const faults = [...faultsOf(policies, effects)].filter((fault) => reason === null || !fault.startsWith('missing'));
    expect({ seed, faults: faults.slice(0, 3) }).toEqual({ seed, faults: [] });
  }
  expect(incomplete).toBeGreaterThan(0);
});

it('shows what a new policy allows, in terms of its patterns', () => {
  const base = { ...rules('deny'), resources: ['invoices/closed/*'], priority: 1 };
  const policies = [
    planned(base, 'both'),
    planned({ ...rules('allow'), name: 'new', resources: ['invoices/*'] }, 'after'),
  ];
  const { effects, reason } = policyEffects({ policies, agents: [], timeout: 1_000 });
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

it('names for each region the policies that decide there, not those of others with the same change', () => {
  const policies = [
    planned({ ...rules('allow'), name: 'base' }, 'both'),
    planned({ ...rules('deny'), name: 'outer', id: 'pol_1', resources: ['a/*'] }, 'after'),
    planned({ ...rules('deny'), name: 'middle', id: 'pol_2', resources: ['a/b/*'], priority: 1 }, 'both'),
    planned({ ...rules('allow'), name: 'inner', id: 'pol_3', resources: ['a/b/c/*'], priority: 2 }, 'both'),
    planned({ ...rules('deny'), name: 'innermost', id: 'pol_4', resources: ['a/b/c/*'], priority: 3 }, 'after'),
  ];
  const { effects } = policyEffects({ policies, agents: AGENTS, timeout: 60_000 });
  const named = effects
    .filter(({ resourceTypes }) => resourceTypes.in.includes('*'))
    .map(({ resources, because }) => [resources.in, because.from.map(nameOf), because.to.map(nameOf)]);
  expect(named).toEqual([
    [['a/*'], ['base'], ['outer']],
    [['a/b/c/*'], ['inner'], ['innermost']],
  ]);
  expect([...faultsOf(policies, effects)]).toEqual([]);
});

it('is not all when the approvers that its regions repeat would fill the memory', () => {
  const long = 'x'.repeat(400);
  const approvers = Array.from({ length: 10 }, (_, group) => ({
    subjects: Array.from({ length: 100 }, (__, index) => `role:${group}-${index}-${long}`),
    approvals: 1,
  }));
  const approval = { riskLevel: 'low', approvers, decideWithin: 'P1D', executeWithin: 'PT1H' } as const;
  const asking = planned({ ...rules('require_approval'), approval, actions: ['read'] }, 'after');
  const apart = Array.from({ length: 100 }, (_, index) =>
    planned({ ...rules('allow'), name: `p${index}`, id: `pol_${index}`, priority: -index }, 'both'),
  ).map((policy, index) => ({ ...policy, resources: [`a/${index}`], resourceTypes: [`t${index}`] }));
  const { effects, reason } = policyEffects({ policies: [asking, ...apart], agents: AGENTS, timeout: 60_000 });
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
    }));
  const { effects, reason } = policyEffects({ policies, agents: AGENTS, timeout: 0 });
  expect(reason).toContain('PLAN_TIMEOUT');
  expect([...faultsOf(policies, effects)].filter((fault) => !fault.startsWith('missing'))).toEqual([]);
});

function rules(effect: PlannedPolicy['effect']): Omit<PlannedPolicy, 'isBefore' | 'isAfter' | 'isNew'> {
  const everything = { subjects: ['*'], actions: ['*'], resources: ['*'], resourceTypes: [] };
  return {
    id: `pol_${effect}`,
    name: effect,
    version: '1',
    effect,
    ...everything,
    priority: 0,
    conditions: [],
    approval: null,
  };
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}

function planned(policy: ReturnType<typeof rules>, when: 'before' | 'after' | 'both'): PlannedPolicy {
  return { ...policy, isBefore: when !== 'after', isAfter: when !== 'before', isNew: when === 'after' };
}

function randomPolicies(
  random: Random,
  { resources = RESOURCE_PATTERNS, types = TYPES }: { resources?: readonly string[]; types?: readonly string[] } = {},
): PlannedPolicy[] {
  return Array.from({ length: 1 + random.below(9) }, (_, index) => {
    const effect = random.of(['allow', 'allow', 'deny', 'require_approval'] as const);
    const policy = {
      ...rules(effect),
      ...{ id: `pol_${index}`, name: `p${index}`, priority: random.of([0, 0, 0, 1, 2]) },
      subjects: random.some(SUBJECTS),
      actions: random.some(ACTION_PATTERNS),
      resources: random.some(resources),
      resourceTypes: random.below(3) === 0 ? random.some(types) : [],
      conditions:
        random.below(4) === 0
          ? [{ parameter: random.of(['/c', '/d']), op: 'eq', value: random.of([1, 2]) } as const]
          : [],
      approval: effect === 'require_approval' ? approval(random) : null,
    };
    return planned(policy, random.of(['before', 'after', 'both', 'both', 'both']));
  });
}

function approval(random: Random): PlannedPolicy['approval'] {
  const group = (): { subjects: string[]; approvals: number } => ({
    subjects: random.some(['role:r', 'role:s', '*']),
    approvals: 1 + random.below(2),
  });
  return {
    riskLevel: 'low',
    approvers: random.below(2) === 0 ? [group()] : [group(), group()],
    decideWithin: 'P1D',
    executeWithin: 'PT1H',
  };
}

/** Mulberry32: the same seed gives the same numbers. */
class Random {
  constructor(private state: number) {}

  below(end: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  }

  of<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  /** One to three of the items. */
  some<Item>(items: readonly Item[]): Item[] {
    return Array.from({ length: 1 + this.below(3) }, () => this.of(items));
  }
}
