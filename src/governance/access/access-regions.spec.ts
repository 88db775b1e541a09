import {
  ACTIONS,
  AGENTS,
  type AgentRequest,
  AT,
  IDS,
  lettingOf,
  PARAMETERS,
  regionsOf,
  TYPES,
} from '../../../test/support/oracles/plan-oracle';
import { Random, randomPolicies } from '../../../test/support/oracles/random-policies';
import type { Agent } from '../agents/agent.entity';
import { checkPermission, type PermissionResult } from '../permissions/permissions';
import { compilePolicy, type PolicyRules } from '../policies/evaluation/compiled-policy';
import { PolicyEvaluator } from '../policies/evaluation/policy-evaluator';
import { subjectOf } from '../policies/patterns/subjects';
import { policyEffects } from '../policy-plans/effects/policy-effects';
import { type AccessBasis, accessChange, accessPlan } from './access-plan';
import { accessChanges, accessRegions } from './access-regions';

/** Number of random sets of policies; ACCESS_SETS=1000 is the full test. */
const SETS = Number(process.env['ACCESS_SETS'] ?? 15);
const REQUESTS = 100;
const TIMEOUT = 60_000;
const CAPABILITIES = ['*', 'send-*', 'send-mail*', 'send-mail', 's*', 'read', 'x', 'y', 'nothing', ' invalid'];
const EFFECTS = ['deny', 'allow'] as const;
type DefaultEffect = (typeof EFFECTS)[number];
type Effects = Parameters<typeof regionsOf>[1];
type Requested = Omit<AgentRequest, 'subject'>;
jest.setTimeout(300_000 + 1_000 * SETS);

/**
 * Policies with limits and principals as well, of which a plan knows only that they may keep a policy from matching.
 */
function randomBasis(random: Random): AccessBasis {
  const policies = randomPolicies(random).map((policy) => ({
    ...policy,
    limits: policy.effect === 'allow' && random.below(5) === 0 ? [{ max: 1, per: 'day', by: 'agent' } as const] : [],
    onBehalfOf: random.below(6) === 0 ? ['user:*'] : [],
    team: random.of([null, null, 'red', 'blue']),
  }));
  const { agentId: id, agentName: name, kind } = random.of(AGENTS);
  const roles = random.below(2) === 0 ? [] : [...new Set(random.some(['r', 's']))];
  const status = random.below(10) === 0 ? 'suspended' : 'active';
  const team = random.of([null, 'red']);
  return { agent: { id, name, kind, roles, team, capabilities: random.some(CAPABILITIES), status }, policies };
}

function randomRequest(random: Random): Requested {
  return {
    ...{ action: random.of([...ACTIONS, 'nothing']), resourceType: random.of(TYPES), resourceId: random.of(IDS) },
    ...{ parameters: random.of(PARAMETERS), at: AT },
  };
}

/** Returns the answer of execute while no limit is used. */
function answerTo(requested: Requested, { agent, policies }: AccessBasis, defaultEffect: DefaultEffect): string {
  const evaluator = new PolicyEvaluator();
  evaluator.put(policies.map(compilePolicy), []);
  const subject = subjectOf(agent);
  const evaluate = (): ReturnType<PolicyEvaluator['evaluate']> => evaluator.evaluate({ ...requested, subject });
  const somebody = { agent: { ...agent, observeUntil: null } as Agent, subject };
  const result: PermissionResult = checkPermission(somebody, requested, null, {
    ...{ evaluate, defaultEffect, stops: [], at: AT },
  });
  return result.effect;
}

/** Returns the policies that match while no limit is used, without a principal. */
function lettingFor(policies: readonly PolicyRules[]): ReturnType<typeof lettingOf> {
  const letting = lettingOf(policies as Parameters<typeof lettingOf>[0]);
  const behalf = policies.filter(({ effect, onBehalfOf }) => effect === 'allow' && onBehalfOf.length > 0);
  return new Map([...letting, ...behalf.map(({ name, version }) => [`${name} ${version}`, () => false] as const)]);
}

/** Returns the policies as if all conditions, limits and principals were met. */
function withoutConditions({ agent, policies }: AccessBasis): AccessBasis {
  return { agent, policies: policies.map((policy) => ({ ...policy, conditions: [], limits: [], onBehalfOf: [] })) };
}

async function regionsFor(basis: AccessBasis, defaultEffect: DefaultEffect): Promise<Effects> {
  const { agent, policies } = basis;
  if (agent.status !== 'active') return [];
  const plan = await accessPlan(basis, defaultEffect);
  const { effects, reason } = policyEffects(plan, [subjectOf(agent)], TIMEOUT);
  expect(reason).toBeNull();
  const { allowed, withApproval } = accessRegions(effects, policies);
  expect(allowed.every(({ to }) => to.effect === 'allow')).toBe(true);
  expect(withApproval.every(({ to }) => to.effect === 'require_approval')).toBe(true);
  return [...allowed, ...withApproval].map((region) => ({ ...region, subjects: [agent.id] })) as unknown as Effects;
}

describe.each(EFFECTS)('With the default effect %s', (defaultEffect) => {
  it(`a request is in a region exactly if it would be answered so, in ${SETS} sets of policies`, async () => {
    const faults: unknown[] = [];
    for (let seed = 1; seed <= SETS; seed += 1) {
      const random = new Random(seed);
      const basis = randomBasis(random);
      const regions = await regionsFor(basis, defaultEffect);
      const letting = lettingFor(basis.policies);
      const met = new Map([...letting.keys()].map((name) => [name, () => true] as const));
      for (let count = 0; count < REQUESTS; count += 1) {
        const requested = randomRequest(random);
        const request = { ...requested, subject: subjectOf(basis.agent) };
        for (const [isMet, conditions] of [[false, letting] as const, [true, met] as const]) {
          const effects = regionsOf(request, regions, conditions).map(({ to }) => to.effect);
          const answer = answerTo(requested, isMet ? withoutConditions(basis) : basis, defaultEffect);
          if (effects.join() !== (answer === 'deny' ? '' : answer))
            faults.push({ seed, isMet, requested, effects, answer });
        }
      }
    }
    expect(faults.slice(0, 3)).toEqual([]);
  });

  it(`a request is in a change exactly if it is answered otherwise, between ${SETS} pairs of sets`, async () => {
    const faults: unknown[] = [];
    for (let seed = 1; seed <= SETS; seed += 1) {
      const random = new Random(seed);
      const [before, other] = [randomBasis(random), randomBasis(random)];
      // Some policies stay, because a policy in force has the same content at any time.
      const { id, name, kind } = before.agent;
      const after = {
        agent: { ...other.agent, id, name, kind },
        policies: before.policies.map((policy, index) =>
          random.below(2) === 0
            ? policy
            : { ...(other.policies[index] ?? policy), id: `pol_${index}b`, name: `q${index}` },
        ),
      };
      const plan = await accessChange(before, after, defaultEffect);
      const { effects, reason } = policyEffects(plan, [subjectOf(after.agent)], TIMEOUT);
      expect(reason).toBeNull();
      const policies = [
        ...new Map([...before.policies, ...after.policies].map((policy) => [policy.id, policy])).values(),
      ];
      const changes = accessChanges(effects, policies);
      expect(JSON.stringify(changes)).not.toContain('"id":""');
      const regions = changes.map((change) => ({ ...change, subjects: [id] })) as unknown as Effects;
      const letting = lettingFor(policies);
      for (let count = 0; count < REQUESTS; count += 1) {
        const requested = randomRequest(random);
        const request = { ...requested, subject: subjectOf(after.agent) };
        const [from, to] = [answerTo(requested, before, defaultEffect), answerTo(requested, after, defaultEffect)];
        const matching = regionsOf(request, regions, letting).map(
          (region) => `${region.from.effect} ${region.to.effect}`,
        );
        const isApproval = from === 'require_approval' && to === from;
        // Two requirements may differ in who approves.
        const expected = from === to ? (isApproval ? ['', `${from} ${to}`] : ['']) : [`${from} ${to}`];
        if (!expected.includes(matching.join())) faults.push({ seed, requested, matching, from, to });
      }
    }
    expect(faults.slice(0, 3)).toEqual([]);
  });
});
