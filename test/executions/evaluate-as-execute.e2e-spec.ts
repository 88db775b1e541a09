import * as fc from 'fast-check';
import type { PolicyCondition } from '../../src/governance/policies/conditions/condition';
import { POLICY_EFFECTS } from '../../src/governance/policies/evaluation/evaluation';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { send, type Answer } from '../support/application/send';

/** Number of requests that are both evaluated and executed: a sample, or as many as the environment says. */
const CASES = Number(process.env['EVALUATION_CASES'] ?? 240);
const OF_A_ROUND = 60;
/** Shown with a failure. Set in the environment, it generates the same cases again. */
const SEED = Number(process.env['EVALUATION_SEED'] ?? Date.now() % 2 ** 31);

const ACTIONS = ['read', 'reads', 'pay'];
const ROLES = ['ops', 'dev'];
const NAMES = ['bot', 'caf\u00e9', 'idle', 'clerk'];
const TYPES = ['docs', 'files'];
const CONDITIONS: PolicyCondition[] = [
  { parameter: '/n', op: 'lt', value: 3 },
  { parameter: '/n', op: 'exists', value: true },
  { parameter: '/s/0', op: 'in', value: ['x', null] },
  { parameter: '/s', op: 'prefix', value: 'x' },
];

const group = fc.record({
  subjects: fc.shuffledSubarray(['role:boss', 'kind:human', 'clerk', 'agent:*'], { minLength: 1 }),
  approvals: fc.integer({ min: 1, max: 10 }),
});
const policy = fc.record({
  effect: fc.constantFrom(...POLICY_EFFECTS),
  subjects: fc.shuffledSubarray(
    [
      '*',
      'agent:*',
      'role:*',
      'role:ops',
      'role:dev',
      'bot',
      'agent:cafe\u0301',
      'kind:human',
      'kind:machine',
      'user:*',
    ],
    { minLength: 1, maxLength: 3 },
  ),
  actions: fc.shuffledSubarray(['read', 're*', 'pay', '*'], { minLength: 1, maxLength: 2 }),
  resourceTypes: fc.oneof(fc.constant([]), fc.shuffledSubarray(TYPES)),
  resources: fc.shuffledSubarray(
    ['*', 'a', 'a/*', 'docs/a', 'docs/*', 'docs/a/b', 'files/a/*', 'a/b%20c', 'caf\u00e9'],
    {
      minLength: 1,
      maxLength: 3,
    },
  ),
  priority: fc.constantFrom(0, 0, 0, 1, -1),
  conditions: fc.oneof(fc.constant([]), fc.shuffledSubarray(CONDITIONS, { maxLength: 2 })),
  approval: fc.record({
    riskLevel: fc.constantFrom('low', 'critical'),
    approvers: fc.array(group, { minLength: 1, maxLength: 3 }),
    decideWithin: fc.constantFrom('P1D', 'PT24H', 'PT2H'),
  }),
});
const request = fc.record({
  agent: fc.constantFrom(...NAMES),
  action: fc.constantFrom(...ACTIONS, 'fly'),
  resourceType: fc.constantFrom(...TYPES),
  resourceId: fc.constantFrom('a', 'b', 'a/b', '/a/b', 'docs/a', 'a/b c', 'a/b%20c', 'cafe\u0301'),
  parameters: fc.record({ n: fc.constantFrom(1, 3, 'x'), s: fc.constantFrom('x', 'yx', ['x']) }, { requiredKeys: [] }),
});

/** The answer of execute, in the terms of evaluate. */
interface ExecuteVerdict {
  readonly effect: string;
  readonly reason: string | null;
  readonly policies: readonly unknown[];
}

describe.each(['deny', 'allow'])('With the default effect %s', (POLICY_DEFAULT_EFFECT) => {
  let app: TestApp;
  const ids = new Map<string, string>();

  beforeAll(async () => {
    const environment = { RATE_LIMIT: '100000000', MAX_PENDING_APPROVALS: '1000000', POLICY_DEFAULT_EFFECT };
    app = await createTestApp({ environment });
    const kinds = { clerk: 'human' } as Readonly<Record<string, string>>;
    for (const [at, name] of NAMES.entries()) {
      const roles = ROLES.slice(0, at % 3);
      const { id } = await createAgent(app, { name, capabilities: ACTIONS, roles, kind: kinds[name] ?? 'machine' });
      ids.set(name, id);
    }
    await send(app, 'POST', `/api/v1/agents/${ids.get('idle') ?? ''}/suspend`);
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  async function get(path: string): Promise<Answer['body']> {
    return (await send(app, 'GET', `/api/v1/${path}`)).body;
  }

  it('evaluate predicts what execute does', async () => {
    let number = 0;
    const rounds = Math.ceil(CASES / 2 / OF_A_ROUND);
    const sets = fc.sample(fc.array(policy, { maxLength: 14, size: 'max' }), { seed: SEED, numRuns: rounds });
    for (const [round, made] of sets.entries()) {
      const policies = await Promise.all(
        made.map(({ approval, ...rules }) =>
          createPolicy(app, rules.effect === 'require_approval' ? { ...rules, approval } : rules),
        ),
      );
      // Each has different parameters, since a repeated request would continue the earlier one.
      const requests = fc.sample(request, { seed: SEED + round, numRuns: OF_A_ROUND }).map((sample) => {
        number += 1;
        return { ...sample, parameters: { ...sample.parameters, number } };
      });
      const body = { requests };
      const evaluated = (await send(app, 'POST', '/api/v1/policies/evaluate', { body })).body;
      const executed = await Promise.all(
        requests.map(({ agent, ...rest }) =>
          send(app, 'POST', `/api/v1/agents/${encodeURIComponent(agent)}/execute`, { body: rest }),
        ),
      );
      const recorded = await records();
      for (const [index, answer] of executed.entries()) {
        const { approval, ...expected } = evaluated.results[index];
        const { parameters } = requests[index] ?? { parameters: { number: 0 } };
        const record = recorded.get(parameters.number);
        const context = { seed: SEED, made, request: requests[index] };
        expect({ ...context, answer: doneBy(answer, record.policies) }).toEqual({ ...context, answer: expected });
        expect(
          approval?.approvers.map(({ subjects, approvals }: ApproverGroup) => ({ subjects, approvals })) ?? null,
        ).toEqual(await approversOf(record));
      }
      const { data: entries } = await get(`audit?limit=${2 * OF_A_ROUND}&order=desc`);
      const decided = entries.filter(({ details }: { details: object }) => 'policySet' in details);
      for (const { action, details } of decided.slice(0, OF_A_ROUND))
        expect([action, details.policySet]).toEqual([action, evaluated.policySet]);
      await Promise.all(policies.map(({ id }) => send(app, 'POST', `/api/v1/policies/${id}/deactivate`)));
    }
  }, 3_600_000);

  /** Keyed by the number in their parameters. */
  async function records(): Promise<Map<number, Answer['body']>> {
    const { data } = await get(`executions?limit=${OF_A_ROUND}&order=desc`);
    return new Map(data.map((execution: Answer['body']) => [execution.parameters.number, execution]));
  }

  async function approversOf({ decisionId }: { decisionId: string | null }): Promise<ApproverGroup[] | null> {
    if (decisionId === null) return null;
    const { approvers } = await get(`decisions/${decisionId}`);
    return approvers.map(({ subjects, approvals }: ApproverGroup) => ({ subjects, approvals }));
  }
});

interface ApproverGroup {
  readonly subjects: readonly string[];
  readonly approvals: number;
}

function doneBy({ status, body }: Answer, policies: readonly unknown[]): ExecuteVerdict {
  if (status === 202) return { effect: 'require_approval', reason: 'approval_required', policies };
  return status === 200
    ? { effect: 'allow', reason: null, policies }
    : { effect: 'deny', reason: body.error.reason, policies };
}
