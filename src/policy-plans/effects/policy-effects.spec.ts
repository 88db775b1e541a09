import { compileConditions, truthOf } from '../../policies/conditions/condition';
import type { JsonObject } from '../../json/json-value';
import type { EvaluationRequest } from '../../policies/evaluation/evaluation-request';
import { PolicyEvaluator } from '../../policies/evaluation/policy-evaluator';
import type { AgentSubject } from '../../policies/patterns/subject';
import type { Effect, PatternSet, PlannedPolicy, PlannedVerdict, PolicyVersion } from './effect';
import { policyEffects } from './policy-effects';

/** Policy sets that are tried; PLAN_SETS=10000 is the whole test. */
const SETS = Number(process.env['PLAN_SETS'] ?? 40);

const ACTIONS = ['read', 'send-mail', 'send-mail-now', 'send-fax', 'x'];
const ACTION_PATTERNS = ['*', 'send-*', 'send-mail*', 'send-mail', 'read', 's*', 'x'];
const TYPES = ['a', 'b', 'doc', 'other'];
const IDS = [
  ...['a', 'b', 'c', '+', 'a/b', 'a/b/c', 'a/c', 'b/c', 'b/a', 'c/d/e', 'b/c/d', 'doc'],
  ...['https://h/a', 'https://h/a/b', 'https://g/a', 's3://a/b'],
];
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
];
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
const AGENTS: readonly AgentSubject[] = [
  { agentId: 'agt_1', agentName: 'bot', kind: 'machine', roles: [] },
  { agentId: 'agt_2', agentName: 'ann', kind: 'human', roles: ['r'] },
  { agentId: 'agt_3', agentName: 'ben', kind: 'human', roles: ['r', 's'] },
  { agentId: 'agt_4', agentName: 'two', kind: 'machine', roles: [] },
];
const OTHERS = (['machine', 'human'] as const).map((kind) => ({
  agentId: `other:${kind}`,
  agentName: '\0',
  kind,
  roles: [],
}));
const PARAMETERS: readonly JsonObject[] = [{}, { c: 1 }, { c: 2 }, { d: 1 }, { c: 1, d: 1 }, { c: 2, d: 2 }];

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

it('says what a new policy lets through, in the words of its patterns', () => {
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
      // Without a "/" an id counts behind its type, too. What the deny names behind it, begins with "closed/".
      resources: { in: ['+', 'invoices/*'], except: ['invoices/closed/*'] },
    },
  ]);
});

it('is not all when its time is over, and what it says is true', () => {
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

/** What is wrong with regions, held against every request that the texts above make up. */
function* faultsOf(policies: readonly PlannedPolicy[], effects: readonly Effect[]): Generator<string> {
  const before = evaluatorOf(policies.filter(({ isBefore }) => isBefore));
  const after = evaluatorOf(policies.filter(({ isAfter }) => isAfter));
  const parameterSets = policies.some(({ conditions }) => conditions.length > 0) ? PARAMETERS : [{}];
  for (const subject of [...AGENTS, ...OTHERS])
    for (const action of ACTIONS)
      for (const resourceType of TYPES)
        for (const resourceId of IDS)
          for (const parameters of parameterSets) {
            const request = { subject, action, resourceType, resourceId, parameters };
            const from = verdictOf(before, request);
            const to = verdictOf(after, request);
            const regions = effects.filter((effect) => liesIn(effect, request, policies));
            const shown = (): string => JSON.stringify({ ...request, subject: subject.agentId, from, to });
            if (regions.length > 1) yield `overlap ${shown()} ${JSON.stringify(regions)}`;
            const [region] = regions;
            if (region === undefined && textOf(from) !== textOf(to)) yield `missing ${shown()}`;
            if (
              region !== undefined &&
              (textOf(region.from) !== textOf(from) || textOf(region.to) !== textOf(to) || textOf(from) === textOf(to))
            )
              yield `wrong ${shown()} ${JSON.stringify(region)}`;
          }
}

function evaluatorOf(policies: readonly PlannedPolicy[]): PolicyEvaluator {
  const evaluator = new PolicyEvaluator();
  evaluator.addAll(policies);
  return evaluator;
}

function verdictOf(evaluator: PolicyEvaluator, request: EvaluationRequest): PlannedVerdict {
  const { effect, requirement } = evaluator.evaluate(request);
  return requirement === null
    ? { effect: effect ?? 'no_policy' }
    : { effect: 'require_approval', approvers: requirement.approvers };
}

function textOf({ effect, approvers = [] }: PlannedVerdict): string {
  return `${effect} ${approvers
    .map(({ subjects, approvals }) => `${[...new Set(subjects)].sort().join()} ${approvals}`)
    .sort()
    .join(';')}`;
}

function liesIn(effect: Effect, request: EvaluationRequest, policies: readonly PlannedPolicy[]): boolean {
  const { subject, action, resourceType, resourceId, parameters } = request;
  const lets = ({ name, version }: PolicyVersion): boolean => {
    const policy = policies.find((each) => each.name === name && each.version === version);
    if (policy === undefined) throw new Error(`There is no policy ${name}.`);
    const truth = truthOf(compileConditions(policy.conditions) ?? [], parameters);
    return policy.effect === 'allow' ? truth === true : truth !== false;
  };
  return (
    effect.subjects.includes((subject as AgentSubject).agentId) &&
    isIn(effect.actions, (pattern) =>
      pattern.endsWith('*') ? action.startsWith(pattern.slice(0, -1)) : action === pattern,
    ) &&
    isIn(effect.resourceTypes, (pattern) => pattern === '*' || pattern === resourceType) &&
    isIn(effect.resources, (pattern) => resourceMatches(pattern, resourceId)) &&
    effect.when.hold.every(lets) &&
    !effect.when.fail.some(lets)
  );
}

function isIn({ in: listed, except }: PatternSet, matches: (pattern: string) => boolean): boolean {
  return listed.some(matches) && !except.some(matches);
}

function resourceMatches(pattern: string, id: string): boolean {
  if (pattern === '*') return true;
  if (pattern === '+') return !id.includes('/');
  if (pattern === '://') return id.includes('://');
  const path = pattern.replace(/^\//, '');
  return path.endsWith('/*') ? id.startsWith(path.slice(0, -1)) : id === path;
}

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

function planned(policy: ReturnType<typeof rules>, when: 'before' | 'after' | 'both'): PlannedPolicy {
  return { ...policy, isBefore: when !== 'after', isAfter: when !== 'before', isNew: when === 'after' };
}

function randomPolicies(random: Random): PlannedPolicy[] {
  return Array.from({ length: 1 + random.below(9) }, (_, index) => {
    const effect = random.of(['allow', 'allow', 'deny', 'require_approval'] as const);
    const policy = {
      ...rules(effect),
      ...{ id: `pol_${index}`, name: `p${index}`, priority: random.below(3) === 0 ? 1 : 0 },
      subjects: random.some(SUBJECTS),
      actions: random.some(ACTION_PATTERNS),
      resources: random.some(RESOURCE_PATTERNS),
      resourceTypes: random.below(3) === 0 ? random.some(TYPES) : [],
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

/** Mulberry32: the same numbers for the same seed. */
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

  /** One to three of them. */
  some<Item>(items: readonly Item[]): Item[] {
    return Array.from({ length: 1 + this.below(3) }, () => this.of(items));
  }
}
