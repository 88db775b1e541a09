import type { ApproverGroup } from '../../../src/governance/policies/approval/approval-requirement';
import type { PlannedPolicy } from '../../../src/governance/policy-plans/effects/planned-match';

export const TYPES = ['a', 'b', 'doc', 'other', 'c d'];
const ACTION_PATTERNS = ['*', 'send-*', 'send-mail*', 'send-mail', 'read', 's*', 'x'];
export const RESOURCE_PATTERNS = [
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
export const ENCODED_PATTERNS = ['c%20d', 'a/c%2520d', 'c%20d/*', 'c d/e%20f', 'https://h/c%3Ad'];
const SUBJECTS = [
  '*',
  'agent:*',
  'kind:human',
  'kind:machine',
  'role:*',
  'role:r',
  'role:s',
  'role:nobody',
  'role:never',
  'agent:missing',
  'gone',
  'bot',
  'agent:ann',
  'user:x',
];

/** Rules for everything. */
export function rules(effect: PlannedPolicy['effect']): Omit<PlannedPolicy, 'isBefore' | 'isAfter' | 'isNew'> {
  const everything = { subjects: ['*'], actions: ['*'], resources: ['*'], resourceTypes: [] };
  return {
    id: `pol_${effect}`,
    name: effect,
    version: '1',
    effect,
    ...everything,
    priority: 0,
    conditions: [],
    limits: [],
    onBehalfOf: [],
    approval: null,
    team: null,
  };
}

/** When the policy is in force: before a plan, after it, or both. */
export function planned(policy: ReturnType<typeof rules>, when: 'before' | 'after' | 'both'): PlannedPolicy {
  return { ...policy, isBefore: when !== 'after', isAfter: when !== 'before', isNew: when === 'after' };
}

/** Up to nine policies that meet in many ways. */
export function randomPolicies(
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
  const group = (): ApproverGroup => ({
    subjects: random.some(['role:r', 'role:s', '*']),
    approvals: 1 + random.below(2),
    ...(random.below(4) === 0 && { signed: true }),
  });
  return {
    riskLevel: 'low',
    approvers: random.below(2) === 0 ? [group()] : [group(), group()],
    decideWithin: 'P1D',
    executeWithin: 'PT1H',
  };
}

/** Mulberry32: the same seed gives the same numbers. */
export class Random {
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

  /** Chooses one to three of the items. */
  some<Item>(items: readonly Item[]): Item[] {
    return Array.from({ length: 1 + this.below(3) }, () => this.of(items));
  }
}
