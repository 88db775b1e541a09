import type { PlannedPolicy } from './effect';
import { plannedMatches } from './planned-match';
import { shadowedPolicies } from './shadowed';
import { SubjectClasses } from './subject-classes';

const BROAD = { effect: 'deny', subjects: ['*'], actions: ['send-*', 'read'], resources: ['a/*'] } as const;
const NARROW = { effect: 'allow', subjects: ['role:r'], actions: ['send-mail'], resources: ['a/b'] } as const;
type Rules = Partial<PlannedPolicy>;

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
])('a policy is shadowed %s', (_what, narrow, broad, isShadowed) => {
  const policies = [planned('narrow', { ...NARROW, ...narrow }), planned('broad', { ...BROAD, ...broad })];
  const found = shadowedPolicies(plannedMatches(policies, new SubjectClasses([], [])), () => undefined);
  const version = '1';
  const pair = {
    policy: { id: 'pol_narrow', name: 'narrow', version },
    by: { id: 'pol_broad', name: 'broad', version },
  };
  expect(found).toEqual(isShadowed ? [pair] : []);
});

function planned(name: string, rules: Rules): PlannedPolicy {
  const rest = { resourceTypes: [], priority: 0, conditions: [], approval: null };
  const sides = { isBefore: true, isAfter: true, isNew: false };
  const lists = { effect: 'allow', subjects: [], actions: [], resources: [] } as const;
  return { id: `pol_${name}`, name, version: '1', ...lists, ...rest, ...rules, ...sides };
}
