import * as fc from 'fast-check';
import type { PolicyCondition } from '../conditions/condition';
import { isTooLarge } from '../approval/approval-requirement';
import { oracle } from '../../../../test/support/oracles/policy-oracle';
import { compilePolicy, type PolicyRules } from './compiled-policy';
import { type EvaluationRequest, POLICY_EFFECTS, type PolicyEffect } from './evaluation';
import type { PolicyPart } from './explanation';
import { PolicyEvaluator } from './policy-evaluator';

/** Cases per property: a sample, or as many as the environment says. */
const RUNS = Number(process.env['POLICY_CASES'] ?? 200);
jest.setTimeout(300_000 + 20 * RUNS);

const SUBJECTS = ['*', 'agent:*', 'role:*', 'role:ops', 'bot', 'agent:agt_1', 'kind:machine', 'user:*', 'user:x'];
const ACTIONS = ['read', 'write', 're*', '*'];
const TYPES = ['docs', 'files'];
const RESOURCES = ['*', 'a', 'a/b', 'a/*', 'docs/a', 'docs/a/b', 'docs/*', 'files/a/*', 'docs/a%20b', 'x y/*'];
const PRINCIPALS = ['*', 'agent:*', 'agent:ann', 'role:finance', 'user:*', 'user:x'];
const CONDITIONS: PolicyCondition[] = [
  { parameter: '/n', op: 'lt', value: 2 },
  { parameter: '/n', op: 'exists', value: true },
  { parameter: '/s', op: 'eq', value: 'x' },
];
const group = (approvals: number): { subjects: string[]; approvals: number }[] =>
  Array.from({ length: 10 }, (_, at) => ({ subjects: [`role:r${at + approvals}`], approvals }));
const APPROVERS = [[{ subjects: ['*'], approvals: 1 }], group(9), group(10), group(20).slice(5)];

const rules = fc.record({
  effect: fc.constantFrom(...POLICY_EFFECTS),
  subjects: fc.shuffledSubarray(SUBJECTS, { minLength: 1, maxLength: 2 }),
  actions: fc.shuffledSubarray(ACTIONS, { minLength: 1, maxLength: 2 }),
  resourceTypes: fc.oneof(fc.constant([]), fc.shuffledSubarray(TYPES)),
  resources: fc.shuffledSubarray(RESOURCES, { minLength: 1, maxLength: 2 }),
  priority: fc.constantFrom(-1, 0, 0, 0, 5),
  conditions: fc.oneof(fc.constant([]), fc.shuffledSubarray(CONDITIONS, { maxLength: 2 })),
  approvers: fc.constantFrom(...APPROVERS),
  onBehalfOf: fc.oneof(fc.constant([]), fc.shuffledSubarray(PRINCIPALS, { maxLength: 2 })),
});
const request: fc.Arbitrary<EvaluationRequest> = fc.record({
  subject: fc.oneof(
    fc.record({
      agentId: fc.constant('agt_1'),
      agentName: fc.constantFrom('bot', 'other'),
      kind: fc.constantFrom('machine', 'human'),
      roles: fc.subarray(['ops', 'dev']),
    }),
    fc.record({ type: fc.constant('user'), id: fc.constantFrom('x', 'y'), roles: fc.subarray(['ops']) }),
  ),
  principal: fc.oneof(
    fc.constant(null),
    fc.record({
      agentId: fc.constant('agt_2'),
      agentName: fc.constantFrom('ann', 'ben'),
      kind: fc.constant('human' as const),
      roles: fc.subarray(['finance']),
    }),
    fc.record({ type: fc.constant('user'), id: fc.constantFrom('x', 'y'), roles: fc.subarray(['finance']) }),
  ),
  action: fc.constantFrom('read', 'write', 'x'),
  resourceType: fc.constantFrom(...TYPES),
  resourceId: fc.constantFrom('a', 'b', 'a/b', 'docs/a', '/a/b', 'a%20b', 'a b/c'),
  parameters: fc.constantFrom({}, { n: 1 }, { n: 3, s: 'x' }, { s: {} }),
  at: fc.constant('2026-01-05T12:00:00.000Z'),
});

function policyOf(
  { approvers, ...rule }: typeof rules extends fc.Arbitrary<infer Made> ? Made : never,
  at: number,
): PolicyRules {
  const approval = { riskLevel: 'low', approvers, decideWithin: 'P1D', executeWithin: 'PT1H' } as const;
  const id = `pol_${String(at).padStart(3, '0')}`;
  return {
    ...rule,
    team: null,
    limits: [],
    id,
    name: id,
    version: '1',
    approval: rule.effect === 'require_approval' ? approval : null,
  };
}

/** The effect of the policies; without one, nothing is allowed. */
function answerBy(policies: readonly PolicyRules[], sample: EvaluationRequest): PolicyEffect {
  const { effect, requirement } = oracle(policies, sample);
  return effect === null || (requirement !== null && isTooLarge(requirement)) ? 'deny' : effect;
}

/** The policy with one more part, which the request matches. */
function withPart(policy: PolicyRules, part: PolicyPart, { resourceType }: EvaluationRequest): PolicyRules {
  const changed = {
    subject: { subjects: ['*'] },
    action: { actions: ['*'] },
    resource: { resources: ['*'] },
    resourceType: { resourceTypes: [resourceType] },
    conditions: { conditions: [] },
    onBehalfOf: { onBehalfOf: [] },
  }[part];
  return { ...policy, ...changed };
}

/**
 * The one part because of which the policy does not match, if it is only one. The type comes before the resource that
 * follows it.
 */
function lackingBy(policy: PolicyRules, sample: EvaluationRequest): PolicyPart | undefined {
  const parts = ['subject', 'action', 'resourceType', 'resource', 'conditions', 'onBehalfOf'] as const;
  return parts.find((part) => oracle([withPart(policy, part, sample)], sample).effect !== null);
}

function finish<Result>(steps: Generator<unknown, Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

describe('The explanation of an answer', () => {
  it('names the policies that matched and that would have helped, as a literal reading of the rules does', () => {
    fc.assert(
      fc.property(fc.array(rules, { maxLength: 30 }), request, (made, sample) => {
        const policies = made.map(policyOf);
        const evaluator = new PolicyEvaluator();
        evaluator.put(policies.map(compilePolicy), []);
        const { inForce, matched, nearMisses } = finish(evaluator.explain(sample));
        const referenceTo = ({ id, name, version, effect }: PolicyRules): object => ({ id, name, version, effect });
        expect(inForce).toBe(policies.length);

        const matching = policies.filter((policy) => oracle([policy], sample).effect !== null);
        const { effect } = oracle(policies, sample);
        const highest = Math.max(...matching.map(({ priority }) => priority));
        const byRule = matching.map((policy) => {
          const lostTo = policy.priority < highest ? 'priority' : policy.effect === effect ? null : 'effect';
          return { policy: referenceTo(policy), decided: lostTo === null, lostTo };
        });
        expect(matched).toHaveLength(byRule.length);
        expect(matched).toEqual(expect.arrayContaining(byRule));
        const decided = matched.map((each) => each.decided);
        expect(decided).toEqual([...decided].sort((left, right) => Number(right) - Number(left)));

        const answered = answerBy(policies, sample);
        const better = policies.flatMap((policy) => {
          const missing = oracle([policy], sample).effect === null ? lackingBy(policy, sample) : undefined;
          if (missing === undefined) return [];
          const changed = policies.map((each) => (each === policy ? withPart(policy, missing, sample) : each));
          const then = answerBy(changed, sample);
          const isBetter = POLICY_EFFECTS.indexOf(then) < POLICY_EFFECTS.indexOf(answered);
          return isBetter ? [{ policy, missing: [missing] }] : [];
        });
        better.sort(({ policy: a }, { policy: b }) => b.priority - a.priority || (a.id < b.id ? -1 : 1));
        const nearest = better.slice(0, 20).map(({ policy, missing }) => ({ policy: referenceTo(policy), missing }));
        expect(nearMisses(answered)).toEqual(nearest);
      }),
      { numRuns: RUNS },
    );
  });

  it('says the best effect that parameters could have: policies with conditions match, or not, as it suits', () => {
    const effects = fc.constantFrom(...POLICY_EFFECTS);
    fc.assert(
      fc.property(fc.array(rules, { maxLength: 8 }), request, effects, (made, sample, defaultEffect) => {
        const policies = made.map(policyOf);
        const evaluator = new PolicyEvaluator();
        evaluator.put(policies.map(compilePolicy), []);
        const possible = setsOf(policies).map((some) =>
          oracle(some, sample).effect === null ? defaultEffect : answerBy(some, sample),
        );
        const best = POLICY_EFFECTS.find((effect) => possible.includes(effect));
        expect(evaluator.bestEffect(sample, defaultEffect)).toBe(best);
      }),
      { numRuns: RUNS },
    );
  });
});

/** Returns the policies without their conditions, with each conditional one present or not. */
function setsOf(policies: readonly PolicyRules[]): PolicyRules[][] {
  return policies.reduce<PolicyRules[][]>(
    (sets, policy) => {
      const having = sets.map((some) => [...some, { ...policy, conditions: [] }]);
      return policy.conditions.length > 0 ? [...sets, ...having] : having;
    },
    [[]],
  );
}
