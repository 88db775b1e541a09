import { compilePolicy } from '../../policies/evaluation/compiled-policy';
import { PolicyEvaluator } from '../../policies/evaluation/policy-evaluator';
import type { PlannedPolicy } from './planned-match';
import { plannedMatches } from './planned-match';
import { shadowedPolicies } from './shadowed';
import { SubjectClasses } from './subject-classes';

const BROAD = { effect: 'deny', subjects: ['*'], actions: ['send-*', 'read'], resources: ['a/*'] } as const;
const NARROW = { effect: 'allow', subjects: ['role:r'], actions: ['send-mail'], resources: ['a/b'] } as const;
type Rules = Partial<PlannedPolicy>;
const ALL = { subjects: ['*'], actions: ['*'], resources: ['*'] };
const APPROVAL: Rules = {
  ...ALL,
  effect: 'require_approval',
  priority: 1,
  approval: {
    riskLevel: 'low',
    approvers: [{ subjects: ['*'], approvals: 1 }],
    decideWithin: 'P1D',
    executeWithin: 'P1D',
  },
};
const REVIEW: Rules = { effect: 'deny', actions: ['decision:approve'], resources: ['decisions/critical/*'] };
const EXISTS = { parameter: '/a', op: 'exists', value: true } as const;

const TYPES = ['doc', 'a', 'b c', 'b%20c', 'z'];
const RESOURCES = [
  '*',
  'a',
  'a/*',
  'a/b',
  'a/b/*',
  'doc/*',
  'doc/a',
  'doc/a/*',
  'b c',
  'b c/*',
  'b%20c/d',
  'b c/d e',
  'b%20c/*',
  'https://h/*',
  'https://h/a',
  'https://h/a b/*',
];
const IDS = [
  'a',
  'b',
  'q',
  'a/b',
  'a/q',
  'a/b/q',
  'doc',
  'doc/a',
  'doc/q',
  'doc/a/q',
  'b c',
  'b c/d',
  'b c/q',
  'b c/d e',
  'd',
  'd e',
  'd/q',
  'b/q',
  'x/y/z',
  'https://h/a',
  'https://h/q',
  'https://h/a b/q',
  'https://h/a/q',
  'https://z/q',
].flatMap((id) => [...new Set([id, id.replaceAll(' ', '%20'), id.replace(' ', '%2520')])]);

it.each<[what: string, narrow: Rules, broad: Rules, isShadowed: boolean]>([
  ['by a stronger effect', {}, {}, true],
  ['by a higher priority', { effect: 'deny' }, { effect: 'allow', priority: 1, resourceTypes: [] }, true],
  [
    'by a higher priority that is for all',
    { effect: 'deny' },
    { effect: 'allow', priority: 1, resources: ['*'] },
    true,
  ],
  ['not by a lower priority', { priority: 1 }, {}, false],
  ['not by the same effect', { effect: 'deny' }, {}, false],
  ['not by conditions', {}, { conditions: [{ parameter: '/a', op: 'eq', value: 1 }] }, false],
  ['not by limits', {}, { limits: [{ max: 1, per: 'day', by: 'agent' }] }, false],
  ['whatever its own conditions', { conditions: [{ parameter: '/a', op: 'eq', value: 1 }] }, {}, true],
  ['not in part', { actions: ['send-mail', 'write'] }, {}, false],
  ['not by two patterns together', { subjects: ['agent:*'] }, { subjects: ['kind:human', 'kind:machine'] }, false],
  ['not where roles are not only of agents', {}, { subjects: ['agent:*'] }, false],
  ['by its type', { resourceTypes: ['t'] }, { resourceTypes: ['t', 'u'] }, true],
  ['not beyond the type', {}, { resourceTypes: ['t'] }, false],
  ['behind its type', { effect: 'deny', resources: ['a/b/c'] }, { effect: 'deny', priority: 1 }, true],
  [
    'not behind a type that an allow does not list',
    { effect: 'deny', resources: ['a/b/c'] },
    { effect: 'allow', priority: 1 },
    false,
  ],
  ['however a deny is spelled', { resources: ['a/b%20c'] }, { resources: ['a/b c'] }, true],
  [
    'not in every spelling by an allow',
    { effect: 'deny', resources: ['x y'] },
    { effect: 'allow', priority: 1, resources: ['x y'] },
    false,
  ],
  [
    'in every spelling by a deny',
    { effect: 'deny', resources: ['x y/z'] },
    { effect: 'deny', priority: 1, resources: ['x%20y/*'] },
    true,
  ],
  ['by an approval', { effect: 'allow' }, APPROVAL, true],
  ['by an approval where only others than agents are meant', { ...REVIEW, subjects: ['user:x'] }, APPROVAL, true],
  ['by an approval outside decisions', { ...REVIEW, resources: ['invoices/*'] }, APPROVAL, true],
  ['by an approval where its conditions leave it out of reviews', { ...REVIEW, conditions: [EXISTS] }, APPROVAL, true],
  ['by another denial of reviews', REVIEW, { ...ALL, priority: 1 }, true],
  ['not by an approval, which decides on no review', REVIEW, APPROVAL, false],
  ['not by an approval where it includes reviews', { ...ALL, effect: 'deny', resources: ['/*'] }, APPROVAL, false],
  [
    'not by an approval behind the type of reviews',
    { ...REVIEW, resources: ['decision/decisions/low/*'] },
    APPROVAL,
    false,
  ],
])('a policy is shadowed %s', (_what, narrow, broad, isShadowed) => {
  const policies = [planned('narrow', { ...NARROW, ...narrow }), planned('broad', { ...BROAD, ...broad })];
  const shadowed = shadowedPolicies(plannedMatches(policies, new SubjectClasses([], [])), () => undefined);
  const version = '1';
  const pair = {
    policy: { id: 'pol_narrow', name: 'narrow', version },
    by: { id: 'pol_broad', name: 'broad', version },
  };
  expect(shadowed).toEqual(isShadowed ? [pair] : []);
});

it('is reported exactly if every resource is covered by one of the other policy', () => {
  const random = randomBelow(7);
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)] as Item;
  const rules = (): Rules => ({
    effect: pick(['allow', 'deny']),
    subjects: ['*'],
    actions: ['*'],
    resources: [pick(RESOURCES), pick(RESOURCES)],
    resourceTypes: pick([[], [], [pick(TYPES)], [pick(TYPES), pick(TYPES)]]),
  });
  const differences: unknown[] = [];
  let covered = 0;
  for (let pair = 0; pair < 400; pair += 1) {
    const policies = [planned('narrow', rules()), planned('broad', { ...rules(), priority: 1 })] as const;
    const shadowed = shadowedPolicies(plannedMatches(policies, new SubjectClasses([], [])), () => undefined);
    const isCovered = covers(policies[1], policies[0]);
    if (isCovered) covered += 1;
    if (isCovered !== shadowed.length > 0) differences.push(policies);
  }
  expect(differences).toEqual([]);
  expect(covered).toBeGreaterThan(10);
});

/** True if `broad` covers `narrow`, for every request that can be built from the texts above. */
function covers(broad: PlannedPolicy, narrow: PlannedPolicy): boolean {
  const { resourceTypes } = broad;
  const hasTypes =
    resourceTypes.length === 0 ||
    (narrow.resourceTypes.length > 0 && narrow.resourceTypes.every((type) => resourceTypes.includes(type)));
  return hasTypes && narrow.resources.every((one) => broad.resources.some((other) => isIn(narrow, one, broad, other)));
}

function isIn(narrow: PlannedPolicy, one: string, broad: PlannedPolicy, other: string): boolean {
  const [inner, outer] = [only(narrow, one), only(broad, other)];
  return TYPES.every((type) => IDS.every((id) => !inner(type, id) || outer(type, id)));
}

function only(policy: PlannedPolicy, resource: string): (resourceType: string, resourceId: string) => boolean {
  const evaluator = new PolicyEvaluator();
  evaluator.put([compilePolicy({ ...policy, resources: [resource] })], []);
  const subject = { agentId: 'agt_1', agentName: 'bot', kind: 'machine', roles: [] } as const;
  return (resourceType, resourceId) =>
    evaluator.evaluate({ subject, action: 'x', resourceType, resourceId, parameters: {}, at: '' }).effect !== null;
}

/** Numbers from 0 to below a bound, the same at every run. */
function randomBelow(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

function planned(name: string, rules: Rules): PlannedPolicy {
  const rest = {
    resourceTypes: [],
    priority: 0,
    conditions: [],
    limits: [],
    onBehalfOf: [],
    approval: null,
    team: null,
  };
  const sides = { isBefore: true, isAfter: true, isNew: false };
  const lists = { effect: 'allow', subjects: [], actions: [], resources: [] } as const;
  return { id: `pol_${name}`, name, version: '1', ...lists, ...rest, ...rules, ...sides };
}
