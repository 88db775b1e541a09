import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { AGENT_KINDS } from '../../agents/agent-name';
import { RISK_LEVELS } from '../../../core/config/variables/governance-variables';
import { IDENTITY_OPERATORS, PARAMETER_OPERATORS, type PolicyCondition } from '../conditions/condition';
import type { JsonScalar } from '../../../core/json/json-value';
import { compilePolicy, type PolicyRules } from './compiled-policy';
import { canonicalJson } from '../../../ledger/chain/canonical-json';
import { sha256 } from '../../../ledger/chain/hash-chain';
import { oracle } from '../../../../test/support/oracles/policy-oracle';
import { POLICY_EFFECTS, type EvaluationRequest } from './evaluation';
import { PolicyEvaluator, policySetOf } from './policy-evaluator';

/** Number of random policy sets; `POLICY_CASES=100000` for a long run. */
const CASES = Number(process.env['POLICY_CASES'] ?? 200);
jest.setTimeout(300_000 + 20 * CASES);

/** Enough policies for the index node of a common resource to be divided by everything they list. */
const DIVIDED = 3_000;

const AGENTS = ['agt_1', 'agt_2'];
const NAMES = ['caf\u00e9', 'bot', 'user:x', 'a/b'];
const ROLES = ['ops', 'dev', '*', 'a:b'];
const ACTIONS = ['read', 'write', 'send.mail', 'r*', 're*', 'read*', 'w*', 'send*', 'send.*', '*'];
const TYPES = ['docs', 'files', 'a', 'caf\u00e9', 'cafe\u0301'];
const PATHS = [
  'a', 'docs', 'docs/a', 'docs/a/b', 'docs2/a', 'docs/aa', '/docs/a', 'a/a', 'a/a/a', 'Docs/a', 'x/y/z/w',
  'x/y', 'x/y/z', 'x/y/q/w', 'x/y/z/w/v/u', 'x/yy/z/w',
  'https://h/a', 'https://h/a/b', 'https://h/aa', 'https://g/a', 's3://docs/a', 'file:///docs/a', 'docs:', 's3:', 'https:',
  'https://h/a b', 'https://h/a%20b', 'https://h/caf\u00e9/a', 'https://h/caf%C3%A9/a', 'https://h/cafe\u0301/a',
  'a b', 'docs/a b', 'docs/a%20b', 'docs/a%2520b/c', 'caf\u00e9/a', 'cafe\u0301/a', 'caf%C3%A9', 'cafe%CC%81/a', 'a/50%',
]; // prettier-ignore
/** Texts as earlier versions may have stored them. */
const DEAD_PATTERNS = ['docs\\a', 'docs /*', 'a\u200b'];
const DEAD_TYPES = ['*', 'docs '];

const subject = fc.oneof(
  fc.constantFrom('*', 'role:*', 'agent:*', 'cafe\u0301', 'agent:cafe\u0301', 'kind:human', 'kind:machine'),
  fc.constantFrom('user:x', 'user:*', 'user:cafe\u0301', 'caf\u00e9:*', 'robot:a:b', 'agent:user:x'),
  fc.constantFrom(...AGENTS, ...NAMES),
  fc.constantFrom(...AGENTS, ...NAMES).map((name) => `agent:${name}`),
  fc.constantFrom('ops', 'dev', 'a:b').map((role) => `role:${role}`),
);
const resource = fc.oneof(
  fc.constantFrom('*', '/*', ...PATHS, ...DEAD_PATTERNS),
  fc.constantFrom(...PATHS, 'https://h', 'file://').map((path) => `${path}/*`),
);

function listOf<Item>(item: fc.Arbitrary<Item>, minLength: number, maxLength: number): fc.Arbitrary<Item[]> {
  return fc.array(item, { minLength, maxLength });
}

const group = fc.record(
  {
    subjects: fc.shuffledSubarray(['role:ops', 'kind:human', '*', 'bot', 'agt_1'], { minLength: 1 }),
    approvals: fc.integer({ min: 1, max: 10 }),
    signed: fc.constant(true as const),
  },
  { requiredKeys: ['subjects', 'approvals'] },
);
const duration = fc.constantFrom('PT60S', 'PT1M', 'PT1H', 'P1D', 'PT24H', 'P1W', 'P7D', 'P1DT1S');
const approval = fc.record({
  riskLevel: fc.constantFrom(...RISK_LEVELS),
  approvers: fc.array(group, { minLength: 1, maxLength: 3 }),
  decideWithin: duration,
  executeWithin: duration,
});

/** Times on the other side of midnight, and of a weekend, in some zone. */
const TIMES = ['2026-01-04T22:30:00.000Z', '2026-07-04T23:30:00.000Z', '2026-01-05T12:00:00.000Z'] as const;
const POINTERS = [
  '/list/*', '/a/*', '/*/c', '/a', '/b/c', '/list/0', '/list/01', '/x~1y', '/none',
  '/a/$secret', '/list/*/$secret', '/a/c/d', '/a/$hmac', '/a/bytes', '/a/c', '/a/bytes/c',
]; // prettier-ignore
/** Replacements of a secret, and of the hash of a text. */
const REPLACEMENTS = [{ $secret: 's' }, { $hmac: 's', bytes: 2 }, { $secret: 's', c: 1 }, { $hmac: 's' }];
/** Hosts, and texts that look like them; some are the last segment of a path, or the id of a principal. */
const HOSTS = [
  'acme.example', 'ann@acme.example', 'ann@EU.acme.example', 'ann@evil-acme.example', 'ann@acme.example.', 'a b@acme.example',
  'https://acme.example/a', 'https://acme.example', 'https://eu.acme.example:8443?a=b', 'https://ann@acme.example/a',
  'HTTPS://acme.example/a', '127.0.0.1', 'ann@b\u00fccher.example', 'a', 'caf\u00e9', 'x', 'agt_1', 'user', 'agent',
]; // prettier-ignore
const scalar = fc.oneof(
  { arbitrary: fc.constantFrom<JsonScalar>('s', 's/x', 's/../x', 'sx', '', 1, 2, 0, true, false, null), weight: 2 },
  fc.constantFrom<JsonScalar>(...HOSTS),
);
const reference = fc.oneof(
  fc.constantFrom('/a', '/b/c', '/none', '/a/$secret').map((parameter) => ({ parameter })),
  fc.constantFrom('id' as const, 'type' as const).map((principal) => ({ principal })),
  fc.constant({ resource: 'last' as const }),
);
const DOMAINS = ['acme.example', 'example', 'xn--bcher-kva.example', 'a', 's'];
/** Conditions on the principal and on the resource. */
const identity: fc.Arbitrary<PolicyCondition> = fc
  .record({
    of: reference.filter((operand) => !('parameter' in operand)),
    op: fc.constantFrom(...IDENTITY_OPERATORS),
    value: fc.oneof(scalar, reference),
    list: fc.array(scalar, { minLength: 1, maxLength: 3 }),
    domains: fc.shuffledSubarray(DOMAINS, { minLength: 1 }),
    isThere: fc.boolean(),
  })
  .map(({ of, op, value, list, domains, isThere }) => {
    const values = { eq: value, ne: value, in: list, not_in: list, domain: domains, exists: isThere };
    return { ...of, op, value: values[op] } as PolicyCondition;
  });
const otherCondition: fc.Arbitrary<PolicyCondition> = fc
  .record({
    parameter: fc.constantFrom(...POINTERS),
    op: fc.constantFrom(...PARAMETER_OPERATORS, 'domain' as const, 'domain' as const, 'between' as const),
    scalar,
    other: reference,
    exceptions: fc.subarray(['2026-01-04', '2026-01-05', '2026-07-04', '2026-07-05']),
    list: fc.array(scalar, { minLength: 1, maxLength: 3 }),
  })
  .map(({ parameter: pointer, op, scalar: one, list, other, exceptions }): PolicyCondition => {
    const parameter = op === 'exists' ? pointer.replace('*', '0') : pointer;
    const value = one === 2 ? other : one;
    if (op === 'between') {
      const days = one === 1 ? { days: ['sun', 'mon'] as const } : {};
      return {
        clock: one === 2 ? 'Asia/Tokyo' : 'UTC',
        ...days,
        ...(exceptions.length > 0 && { except: exceptions }),
        op,
        value: one === 's' ? ['08:00', '24:00'] : ['22:00', '12:00'],
      };
    }
    if (op === 'domain') return { parameter, op, value: DOMAINS.slice(list.length) };
    if (op === 'within') return { parameter, op, value: 's' };
    if (op === 'in' || op === 'not_in') return { parameter, op, value: list };
    if (op === 'exists') return { parameter, op, value: one === 's' };
    if (op === 'prefix') return { parameter, op, value: one === 's' ? 's' : '' };
    if (op === 'eq' || op === 'ne') return { parameter, op, value };
    return { parameter, op, value: typeof value === 'object' && value !== null && 'parameter' in value ? value : 1 };
  });
const condition = fc.oneof({ arbitrary: otherCondition, weight: 3 }, identity);
/** Texts of the maximum length for comparing two parameters, and of one more character. */
const LONG_TEXTS = [4_096, 4_097].map((length) => 's'.repeat(length));
/** Lists whose texts have as many characters as are read as paths or hosts, and one more. */
const LONG_LISTS = [[], ['s']].map((more) => [...Array.from({ length: 16 }, () => 's'.repeat(4_096)), ...more]);
const held = fc.oneof(
  { arbitrary: scalar, weight: 3 },
  fc.constantFrom(...LONG_TEXTS),
  fc.constant([]),
  fc.constant({}),
  fc.constantFrom(...REPLACEMENTS),
);
const lists = fc.oneof({ arbitrary: fc.array(held, { maxLength: 2 }), weight: 9 }, fc.constantFrom(...LONG_LISTS));
const parameters = fc.record(
  { a: held, b: fc.oneof(held, fc.record({ c: held })), list: lists, 'x/y': held },
  { requiredKeys: [] },
);

const PRINCIPALS: readonly string[] = ['*', 'agent:*', 'role:ops', 'user:*', 'user:a:b', 'cafe\u0301:x'];
const rules = fc.record({
  effect: fc.constantFrom(...POLICY_EFFECTS),
  subjects: listOf(subject, 1, 4),
  actions: listOf(fc.constantFrom(...ACTIONS), 1, 3),
  resourceTypes: listOf(fc.constantFrom(...TYPES, ...DEAD_TYPES), 0, 2),
  resources: listOf(resource, 1, 4),
  priority: fc.constantFrom(-(2 ** 31), -1, 0, 0, 0, 1, 2 ** 31 - 1),
  approval,
  conditions: fc.array(condition, { maxLength: 2 }),
  onBehalfOf: fc.array(fc.constantFrom(...PRINCIPALS), { maxLength: 2 }),
  team: fc.constantFrom(null, null, 'red', 'blue'),
  /** Pads the lists, so that the policy is filed under few of them. */
  wide: fc.boolean(),
});

const roles = fc.uniqueArray(fc.constantFrom(...ROLES));
const agent = fc.record({
  agentId: fc.constantFrom(...AGENTS),
  agentName: fc.constantFrom(...NAMES),
  kind: fc.constantFrom(...AGENT_KINDS),
  roles,
  team: fc.constantFrom(null, 'red', 'blue'),
});
const who = fc.oneof(
  { arbitrary: agent, weight: 3 },
  fc.record({
    type: fc.constantFrom('user', 'caf\u00e9', 'robot'),
    id: fc.constantFrom('x', 'caf\u00e9', 'a:b'),
    roles,
  }),
);
const request = fc.record({
  subject: who,
  principal: fc.oneof(fc.constant(null), who),
  parameters,
  at: fc.constantFrom(...TIMES),
  isReview: fc.boolean(),
  action: fc.constantFrom('read', 'write', 're', 'reads', 'w', 'x', 'send.mail', 'sendmail', 'send'),
  resourceType: fc.constantFrom(...TYPES),
  resourceId: fc.constantFrom(...PATHS),
});

type Made = typeof rules extends fc.Arbitrary<infer Value> ? Value : never;

function policyOf(made: Omit<Made, 'approval'> & Partial<Pick<Made, 'approval'>>, number: number): PolicyRules {
  const { wide, ...rule } = made;
  const id = `pol_${String(number).padStart(4, '0')}`;
  const padding = (kind: string): string[] => Array.from({ length: wide ? 17 : 0 }, (_, at) => `${kind}${String(at)}`);
  return {
    ...rule,
    id,
    limits: [],
    name: `policy ${String(number)}`,
    version: '1.0',
    actions: [...rule.actions, ...padding('action')],
    resources: [...rule.resources, ...padding('resource')],
    approval: rule.effect === 'require_approval' ? (rule.approval ?? null) : null,
  };
}

function expectSame(
  evaluator: PolicyEvaluator,
  policies: readonly PolicyRules[],
  drawnRequest: EvaluationRequest,
): void {
  expect(evaluator.evaluate(drawnRequest)).toEqual(oracle(policies, drawnRequest));
}

/** Shows the contents of an evaluator, except the number of changes and the hash of its set. */
function contentOf(evaluator: PolicyEvaluator): string {
  return inspect(evaluator, { depth: null })
    .replace(/changes: \d+/, 'changes: some')
    .replace(/knownSet: .*/, 'knownSet: some');
}

describe('PolicyEvaluator', () => {
  it('decides as a literal reading of the rules does', () => {
    fc.assert(
      fc.property(
        fc.array(rules, { maxLength: 40 }),
        fc.array(request, { minLength: 1, maxLength: 5 }),
        (made, requests) => {
          const policies = made.map(policyOf);
          const evaluator = new PolicyEvaluator();
          evaluator.put(policies.map(compilePolicy), []);
          for (const drawnRequest of requests) expectSame(evaluator, policies, drawnRequest);
        },
      ),
      { numRuns: CASES },
    );
  });

  it('stays correct while policies are added and removed', () => {
    const step = fc.record({ add: fc.boolean(), rule: rules, victim: fc.nat(), drawnRequest: request });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const evaluator = new PolicyEvaluator();
        const inForce: PolicyRules[] = [];
        for (const [number, { add, rule, victim, drawnRequest }] of steps.entries()) {
          if (add || inForce.length === 0) {
            const policy = policyOf(rule, number);
            inForce.push(policy);
            evaluator.put([compilePolicy(policy)], []);
          } else {
            for (const { id } of inForce.splice(victim % inForce.length, 1)) evaluator.put([], [id]);
          }
          expectSame(evaluator, inForce, drawnRequest);
          expect(evaluator.policySet).toBe(policySetOf(inForce.map(({ id }) => id)));
        }
      }),
      { numRuns: Math.ceil(CASES / 4) },
    );
  });

  it('prepares many in several turns, and decides by a large change from then on', async () => {
    // Each check of the clock finds that the turn is over.
    const clock = jest.spyOn(performance, 'now');
    let now = 0;
    clock.mockImplementation(() => (now += 5));
    const policies = fc.uniqueArray(fc.tuple(fc.nat({ max: 120 }), rules), {
      selector: ([at]) => at,
      minLength: 80,
      size: 'max',
      maxLength: 120,
    });
    await fc.assert(
      fc.asyncProperty(policies, fc.array(request, { minLength: 1 }), async (drawnRules, drawnRequests) => {
        const all = drawnRules.map(([at, rule]) => policyOf(rule, at));
        const [before, added] = [all.slice(0, all.length / 2), all.slice(all.length / 2)];
        const made = { isDone: false, turns: 0 };
        const making = PolicyEvaluator.build(before).finally(() => (made.isDone = true));
        for (; !made.isDone; made.turns += 1) await new Promise(setImmediate);
        const evaluator = await making;
        expect(made.turns).toBeGreaterThan(before.length);
        const removed = before.filter((_, at) => at % 3 === 0).map(({ id }) => id);
        const after = [...before.filter(({ id }) => !removed.includes(id)), ...added];
        const expected = evaluator.policySetWith(
          added.map(({ id }) => id),
          removed,
        );
        evaluator.put(added.map(compilePolicy), removed);
        expect(evaluator.policySet).toBe(expected);
        for (const one of drawnRequests) expectSame(evaluator, after, one);
        evaluator.put(
          [],
          after.map(({ id }) => id),
        );
        expect(evaluator.policySet).toBe(new PolicyEvaluator().policySet);
        expect(contentOf(evaluator)).toBe(contentOf(new PolicyEvaluator()));
      }),
      { numRuns: 30 },
    );
    clock.mockRestore();
  });

  it('names its set by the hash of the sorted ids, also as it will be after a change', () => {
    const ids = fc.uniqueArray(fc.nat({ max: 99 }), { maxLength: 60 });
    fc.assert(
      fc.property(ids, ids, ids, rules, (first, added, removed, rule) => {
        const evaluator = new PolicyEvaluator();
        const madeOf = (numbers: readonly number[]): PolicyRules[] => numbers.map((number) => policyOf(rule, number));
        const idsOf = (numbers: Iterable<number>): string[] => madeOf([...numbers]).map(({ id }) => id);
        evaluator.put(madeOf(first).map(compilePolicy), []);
        const left = new Set(first.filter((number) => !removed.includes(number)).concat(added));
        const expected = sha256(canonicalJson(idsOf(left).sort()));
        expect(evaluator.policySetWith(idsOf(added), idsOf(removed))).toBe(expected);
        evaluator.put([], idsOf(removed));
        evaluator.put(madeOf(added).map(compilePolicy), []);
        expect(evaluator.policySet).toBe(expected);
      }),
    );
  });

  it('decides so among hundreds that share their resources, and again after half of them were removed', () => {
    fc.assert(
      fc.property(
        fc.array(rules, { minLength: 1, maxLength: 20 }),
        fc.array(request, { minLength: 1, maxLength: 5 }),
        (made, requests) => {
          const policies = Array.from({ length: 400 }, (_, number) =>
            made.slice(number % made.length, (number % made.length) + 1).map((rule) => policyOf(rule, number)),
          ).flat();
          const evaluator = new PolicyEvaluator();
          evaluator.put(policies.slice(0, 200).map(compilePolicy), []);
          for (const policy of policies.slice(200)) evaluator.put([compilePolicy(policy)], []);
          for (const drawnRequest of requests) expectSame(evaluator, policies, drawnRequest);
          const [gone, left] = [policies.filter((_, at) => at % 2 === 0), policies.filter((_, at) => at % 2 === 1)];
          for (const { id } of gone) evaluator.put([], [id]);
          for (const drawnRequest of requests) expectSame(evaluator, left, drawnRequest);
          for (const { id } of left) evaluator.put([], [id]);
          expect(contentOf(evaluator)).toBe(contentOf(new PolicyEvaluator()));
        },
      ),
      { numRuns: Math.ceil(CASES / 20) },
    );
  });

  it('decides so among so many for a few resources that the index divides them, while some are added and removed', () => {
    const manyRules = fc.array(rules, { minLength: 60, maxLength: 60 });
    const requests = fc.array(request, { minLength: 3, maxLength: 5 });
    fc.assert(
      fc.property(manyRules, requests, fc.infiniteStream(fc.nat()), (made, drawnRequests, draws) => {
        const draw = (bound: number): number => Number(draws.next().value) % bound;
        const policies = Array.from({ length: DIVIDED }, (_, number) =>
          made
            .slice(number % made.length, (number % made.length) + 1)
            .map((rule) =>
              policyOf({ ...rule, priority: draw(3), actions: draw(2) === 0 ? ['*'] : rule.actions }, number),
            ),
        ).flat();
        const evaluator = new PolicyEvaluator();
        evaluator.put(policies.map(compilePolicy), []);
        const inForce = new Map(policies.map((policy) => [policy.id, policy]));
        for (let change = 0; change < 300; change += 1) {
          for (const policy of policies.slice(draw(DIVIDED)).slice(0, 1)) {
            if (inForce.delete(policy.id)) evaluator.put([], [policy.id]);
            else {
              inForce.set(policy.id, policy);
              evaluator.put([compilePolicy(policy)], []);
            }
          }
        }
        for (const each of drawnRequests) expectSame(evaluator, [...inForce.values()], each);
      }),
      { numRuns: Math.ceil(CASES / 100) },
    );
  });

  const ASKED: EvaluationRequest = {
    subject: { agentId: 'agt_1', agentName: 'bot', kind: 'machine', roles: ['ops'] },
    action: 'read',
    resourceType: 'docs',
    resourceId: 'a',
    at: TIMES[0],
    parameters: {},
  };
  const RULE = {
    effect: 'allow',
    subjects: ['*'],
    actions: ['*'],
    resourceTypes: [],
    resources: ['*'],
    priority: 0,
    conditions: [] as PolicyCondition[],
    onBehalfOf: [] as string[],
    team: null,
  } as const;

  it('names at most ten deciding policies, the oldest first, each once', () => {
    const policies = Array.from({ length: 25 }, (_, number) =>
      policyOf(
        {
          ...RULE,
          subjects: ['bot', 'agt_1', 'role:ops'],
          actions: [],
          resourceTypes: [],
          resources: ['*', 'a'],
          wide: false,
        },
        number,
      ),
    ).map((policy) => ({ ...policy, actions: ['read'] }));
    const evaluator = new PolicyEvaluator();
    evaluator.put([...policies].reverse().map(compilePolicy), []);
    expect(evaluator.evaluate(ASKED).policies.map((policy) => policy.id)).toEqual(
      policies.slice(0, 10).map(({ id }) => id),
    );
  });

  it('computes the beginnings of periods once per request, however many facts depend on them', () => {
    const within = { earlier: 'look', within: 'P7D', op: 'exists', value: true } as const;
    const limits = (['hour', 'day', 'week', 'month'] as const).map((per) => ({ max: 9, per, by: 'agent' }) as const);
    const lists = { subjects: ['*'], actions: ['*'], resources: ['*'], resourceTypes: [] };
    const evaluator = new PolicyEvaluator();
    const policies = Array.from({ length: 100 }, (_, number) => ({
      ...policyOf({ ...RULE, ...lists, conditions: [within], wide: false }, number),
      limits,
    }));
    evaluator.put(policies.map(compilePolicy), []);
    const format = jest.spyOn(Date.prototype, 'toISOString');
    const asks = evaluator.factQueries(ASKED);
    evaluator.evaluate(ASKED, { sums: new Map(), earlier: new Map(), claims: new Map() }, asks);
    expect([asks.uses.length, asks.facts.length]).toEqual([400, 100]);
    // Each of the four periods has a start and an end, and one duration has a beginning.
    expect(format.mock.calls.length).toBeLessThanOrEqual(9);
    format.mockRestore();
  });

  it('leaves nothing behind after every policy was removed', () => {
    const evaluator = new PolicyEvaluator();
    const empty = contentOf(evaluator);
    for (let number = 0; number < 100; number += 1) {
      evaluator.put(
        [
          policyOf(
            {
              ...RULE,
              subjects: [`agent ${String(number)}`, `role:${String(number)}`],
              actions: ['read'],
              resourceTypes: ['docs'],
              resources: [`a/${String(number)}`, `b${String(number)}/*`],
              wide: number % 2 === 0,
            },
            number,
          ),
        ].map(compilePolicy),
        [],
      );
    }
    for (let number = 0; number < 100; number += 1) evaluator.put([], [`pol_${String(number).padStart(4, '0')}`]);
    expect(contentOf(evaluator)).toBe(empty);
    expect(evaluator.evaluate(ASKED)).toEqual({ effect: null, policies: [], requirement: null });
  });
});
