import type { PolicyRules } from '../../src/governance/policies/evaluation/compiled-policy';
import { PolicyEvaluator } from '../../src/governance/policies/evaluation/policy-evaluator';
import type { EvaluationRequest } from '../../src/governance/policies/evaluation/evaluation';
import type { JsonObject } from '../../src/core/json/json-value';
import { CONDITION_OPERATORS, type PolicyCondition } from '../../src/governance/policies/conditions/condition';
import type { Effort } from '../support/effort';
import { printLine, printRatio } from '../support/report';
import { ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';

/** The maximum number of policies in force, each with the maximum number of conditions: 50,000 conditions in all. */
const POLICIES = 2_500;
const CONDITIONS = 20;
/** Milliseconds of processor time that one question may take: it is answered without a pause. */
const TURN = 50;

/** The common beginning of two texts that fill a request and differ only in their last character. */
const LONG = '\u0431'.repeat(200_000);
/** A text of the maximum length at which two texts of a request are compared. */
const COMPARED = '\u0431'.repeat(4_096);
const DEPTH = 28;
const DEEP = '/a'.repeat(DEPTH);
const PARAMETERS = {
  long: `${LONG}x`,
  other: `${LONG}y`,
  compared: COMPARED,
  equal: `${COMPARED} `.trimEnd(),
  path: `b/${'p'.repeat(4_000)}`,
  address: `ann@${'b.'.repeat(100)}example`,
  number: 3,
  a: Array.from({ length: DEPTH - 1 }).reduce<JsonObject>((inner) => ({ a: inner }), {}),
} satisfies JsonObject;
const DOMAINS = Array.from({ length: 50 }, (_, index) => (index === 49 ? 'example' : `a${index}.example`));

type Named = readonly [name: string, condition: PolicyCondition];

/** The most expensive conditions of each operator. All hold, so that the next condition is evaluated, too. */
const DEAREST: Readonly<Record<(typeof CONDITION_OPERATORS)[number], readonly Named[]>> = {
  eq: [
    ['eq of two long texts', { parameter: '/long', op: 'eq', value: { parameter: '/other' } }],
    ['eq of two texts', { parameter: '/compared', op: 'eq', value: { parameter: '/equal' } }],
    ['eq of the resource', { resource: 'last', op: 'eq', value: { resource: 'last' } }],
  ],
  ne: [['ne of the resource', { resource: 'last', op: 'ne', value: 'x' }]],
  in: [['in', { parameter: '/number', op: 'in', value: [1, 2, 3] }]],
  not_in: [['not_in of a long text', { parameter: '/long', op: 'not_in', value: ['a', 'b'] }]],
  lt: [['lt', { parameter: '/number', op: 'lt', value: 5 }]],
  lte: [['lte', { parameter: '/number', op: 'lte', value: { parameter: '/number' } }]],
  gt: [['gt', { parameter: '/number', op: 'gt', value: 1 }]],
  gte: [['gte', { parameter: '/number', op: 'gte', value: 1 }]],
  prefix: [['prefix', { parameter: '/long', op: 'prefix', value: '\u0431'.repeat(100) }]],
  within: [['within', { parameter: '/path', op: 'within', value: 'b' }]],
  domain: [['domain', { parameter: '/address', op: 'domain', value: DOMAINS }]],
  exists: [['exists, deep down', { parameter: DEEP, op: 'exists', value: true }]],
  between: [['between', { clock: 'Europe/Berlin', op: 'between', value: ['00:00', '24:00'] }]],
  // The number of facts has a limit of its own.
  supports: [],
};

const REQUEST: EvaluationRequest = {
  subject: { agentId: 'agt_1', agentName: 'bot', kind: 'machine', roles: [], team: null },
  action: 'probe',
  resourceType: 'document',
  resourceId: Array.from({ length: 64 }, () => 'e\u0301\u0439\u0439').join('/'),
  parameters: PARAMETERS,
  at: '2026-01-05T12:00:00.000Z',
};

/** Measures, for each operator, the cost of one question with the maximum number of conditions in force. */
export async function benchmarkConditions(_: Workplace, { rounds }: Effort): Promise<void> {
  printLine();
  for (const [name, condition] of CONDITION_OPERATORS.flatMap((operator) => DEAREST[operator])) {
    const evaluator = await PolicyEvaluator.build(policiesWith(condition));
    evaluator.evaluate(REQUEST);
    const times = Array.from({ length: rounds }, () => processorTime(() => evaluator.evaluate(REQUEST)));
    printRatio(`${name}: ms for a question / ${TURN}`, ratioOf(times, times.map(() => TURN)), { atMost: 1 }); // prettier-ignore
  }
}

/** Returns policies none of which matches, so that all of their conditions are evaluated. */
function policiesWith(condition: PolicyCondition): PolicyRules[] {
  const holding = Array.from({ length: CONDITIONS - 1 }, () => condition);
  return Array.from({ length: POLICIES }, (_, index) => ({
    id: `pol_${String(index).padStart(26, '0')}`,
    name: `policy-${index}`,
    version: '1.0',
    effect: 'deny',
    subjects: ['*'],
    actions: ['probe'],
    resources: ['*'],
    resourceTypes: [],
    priority: 0,
    conditions: [...holding, { parameter: '/number', op: 'eq', value: 99 }],
    limits: [],
    onBehalfOf: [],
    approval: null,
    team: null,
  }));
}

/** Returns the milliseconds of processor time that a function takes. */
function processorTime(run: () => void): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}
