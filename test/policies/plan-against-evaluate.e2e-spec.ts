import type {
  PlannedEffectResponse as Effect,
  PlannedVerdictResponse as PlannedVerdict,
} from '../../src/governance/policy-plans/dto/policy-plan.response';
import type { PlannedPolicy } from '../../src/governance/policy-plans/effects/planned-match';
import type { AgentSubject } from '../../src/governance/policies/patterns/subjects';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import {
  ACTIONS,
  AGENTS,
  AT,
  type AgentRequest,
  faultsAt,
  IDS,
  lettingOf,
  OTHERS,
  PARAMETERS,
  regionsOf,
  TYPES,
} from '../support/oracles/plan-oracle';
import { planned, Random, randomPolicies, rules } from '../support/oracles/random-policies';

const SETS = 4;
/** For each set, before and after it is applied. */
const REQUESTS = 1_000;
const MAX_LIST_LENGTH = 1_000;
const MAX_REGIONS = 1_000;
const MAX_CONDITIONAL = 8;

interface PlanOutcome {
  readonly complete: boolean;
  readonly reason: string | null;
  readonly effects: readonly Effect[];
  /** Requests that are answered differently although no region says so. */
  readonly missing: number;
}

/** The effects of a plan must be those of `evaluate` before and after the plan is applied. */
describe('A plan', () => {
  let app: TestApp;
  let agents: readonly AgentSubject[];

  beforeEach(async () => {
    app = await createTestApp();
    const created = AGENTS.map(async ({ agentName: name, kind, roles }) => {
      const { id } = await createAgent(app, { name, kind, roles, capabilities: ACTIONS });
      return { agentId: id, agentName: name, kind, roles };
    });
    agents = await Promise.all(created);
  });
  afterEach(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const post = async (path: string, body: object): Promise<Parsed> => {
    const answer = await send(app, 'POST', `/api/v1/policies/${path}`, { body });
    expect([answer.status, answer.body.error]).toEqual([200, undefined]);
    return answer.body;
  };
  const inForce = (policies: readonly PlannedPolicy[], side: 'isBefore' | 'isAfter'): object => ({
    policies: policies.filter((policy) => policy[side]).map(bodyOf),
    prune: true,
  });
  const plan = (target: object): Promise<Parsed> => post('plan', target);
  const apply = async (target: object): Promise<void> => {
    await post('apply', { ...target, base: (await plan(target)).base });
  };

  function randomRequests(random: Random, count: number): AgentRequest[] {
    return Array.from({ length: count }, () => ({
      ...{ subject: random.of([...agents, ...OTHERS]), action: random.of(ACTIONS), resourceType: random.of(TYPES) },
      ...{ resourceId: random.of(IDS), parameters: random.of(PARAMETERS), at: AT },
    }));
  }

  async function evaluated(requests: readonly AgentRequest[]): Promise<PlannedVerdict[]> {
    const verdicts: PlannedVerdict[] = [];
    for (let start = 0; start < requests.length; start += MAX_LIST_LENGTH) {
      const questions = requests.slice(start, start + MAX_LIST_LENGTH).map(questionOf);
      const { results } = await post('evaluate', { requests: questions });
      verdicts.push(...results.map(verdictOf));
    }
    return verdicts;
  }

  /** Applies the target, and holds the regions of its plan against what requests are answered before and after. */
  async function expectTrue(
    policies: readonly PlannedPolicy[],
    requests: readonly AgentRequest[],
  ): Promise<PlanOutcome> {
    await apply(inForce(policies, 'isBefore'));
    const target = inForce(policies, 'isAfter');
    const result = await plan(target);
    const before = await evaluated(requests);
    await post('apply', { ...target, base: result.base });
    const after = await evaluated(requests);
    const letting = lettingOf(policies);
    const effects: readonly Effect[] = result.effects;
    const faults = requests.flatMap((request, index) => {
      const [from, to] = [before[index], after[index]];
      if (from === undefined || to === undefined) throw new Error('A request has no answer.');
      return [...faultsAt(request, regionsOf(request, effects, letting), from, to)];
    });
    const missing = faults.filter((fault) => fault.startsWith('missing'));
    expect(faults.filter((fault) => !missing.includes(fault)).slice(0, 3)).toEqual([]);
    expect((await plan(target)).effects).toEqual([]);
    return { complete: result.complete, reason: result.reason, effects, missing: missing.length };
  }

  it('tells exactly which requests are answered differently once it is applied', async () => {
    let regions = 0;
    for (let seed = 1; seed <= SETS; seed += 1) {
      const random = new Random(seed);
      const policies = randomPolicies(random).map((policy) => ({ ...policy, name: `${seed} ${policy.name}` }));
      const { complete, effects, missing } = await expectTrue(policies, randomRequests(random, REQUESTS));
      expect({ seed, complete, missing }).toEqual({ seed, complete: true, missing: 0 });
      regions += effects.length;
    }
    expect(regions).toBeGreaterThan(SETS);
  });

  /** Each allows an action of its own on a resource of its own. */
  function apart(count: number): PlannedPolicy[] {
    return Array.from({ length: count }, (_, index) => ({
      ...planned({ ...rules('allow'), name: `apart ${index}`, actions: [`act-${index}`] }, 'after'),
      resources: [`resource-${index}`],
    }));
  }

  const requestApart = (index: number): AgentRequest => ({
    ...{ subject: OTHERS[0] as AgentSubject, action: `act-${index}`, resourceType: 'a' },
    ...{ resourceId: `resource-${index}`, parameters: {}, at: AT },
  });

  it('has up to 1,000 regions, and is incomplete beyond, but true', async () => {
    const requests = Array.from({ length: MAX_REGIONS + 2 }, (_, index) => requestApart(index));
    const full = await expectTrue(apart(MAX_REGIONS), requests);
    expect(full).toMatchObject({ complete: true, reason: null, missing: 0, effects: { length: MAX_REGIONS } });
    await apply({ policies: [], prune: true });
    const more = apart(MAX_REGIONS + 2).map((policy) => ({ ...policy, version: '2' }));
    expect(await expectTrue(more, requests)).toMatchObject({
      ...{ complete: false, reason: 'More than 1000 regions change.', missing: 2 },
      effects: { length: MAX_REGIONS },
    });
  });

  it('looks at up to 8 policies with conditions in one cell, and is incomplete beyond, but true', async () => {
    const allowing = (count: number, version: string): PlannedPolicy[] =>
      Array.from({ length: count }, (_, index) => {
        const conditions = [{ parameter: `/p${index}`, op: 'eq', value: 1 } as const];
        return planned({ ...rules('allow'), name: `on ${index}`, version, actions: ['read'], conditions }, 'after');
      });
    // Requests with each parameter alone, all of them, and none.
    const all = Array.from({ length: MAX_CONDITIONAL + 1 }, (_, index) => `p${index}`);
    const sets = [[], all, ...all.map((name) => [name])];
    const requests = sets.map((names) => ({
      ...requestApart(0),
      action: 'read',
      parameters: Object.fromEntries(names.map((name) => [name, 1])),
    }));
    const full = await expectTrue(allowing(MAX_CONDITIONAL, '1'), requests);
    expect(full).toMatchObject({ complete: true, reason: null, missing: 0 });
    await apply({ policies: [], prune: true });
    const more = await expectTrue(allowing(MAX_CONDITIONAL + 1, '2'), requests);
    expect(more).toMatchObject({
      ...{ complete: false, reason: 'More than 8 policies with conditions meet in one place.' },
    });
    expect(more.effects).not.toEqual([]);
  });
});

function bodyOf(policy: PlannedPolicy): object {
  const { name, version, effect, subjects, actions, resources, resourceTypes, priority, conditions, approval } = policy;
  const [of, to, on, types] = [subjects, actions, resources, resourceTypes].map((texts) => [...new Set(texts)]);
  const patterns = { subjects: of, actions: to, resources: on, resourceTypes: types };
  return { name, version, effect, ...patterns, priority, conditions, approval };
}

function questionOf({ subject, action, resourceType, resourceId, parameters }: AgentRequest): object {
  const { agentId, kind } = subject;
  const request = { action, resourceType, resourceId, parameters };
  return agentId.startsWith('other:') ? { ...request, subject: { kind } } : { ...request, agent: agentId };
}

function verdictOf({ effect, reason, approval }: Parsed): PlannedVerdict {
  if (effect === 'require_approval') return { effect, approvers: approval.approvers };
  return { effect: reason === 'no_policy_allows' ? 'no_policy' : effect };
}
