import { load } from './http/load';
import { AGENT, EXECUTION, policies } from './ledger/samples';
import type { Effort } from './support/effort';
import { applyPolicies, NO_POLICIES } from './policies/applied-policies';
import { exactMix, type Workload } from './policies/workload';
import { number, printLine, printRatio } from './support/report';
import { ServerProcess } from './support/server-process';
import { median, ratioOf } from './support/statistics';
import type { Workplace } from './support/workplace';

const POLICIES = 10_000;
const BATCH = 1_000;
/** Number of connections, as a gateway has: while it reads an answer, the service works on the next list. */
const FEW = 4;
/** Checks per second. */
const FAST = 50_000;

const EXECUTED_WITH = 1_000;
const CONDITIONS_BAR = 0.8;
const CONDITIONS = [{ parameter: '/copies', op: 'lte', value: 5 }] as const;
const AGENT_NAME = 'invoice-bot';

/** One question, for both list routes. */
interface Check {
  readonly agent: string;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
}

interface ListRoute {
  readonly name: string;
  readonly path: string;
  readonly body: (checks: readonly Check[]) => object;
}

const LISTS: readonly ListRoute[] = [
  { name: 'evaluate', path: '/api/v1/policies/evaluate', body: (requests) => ({ requests }) },
  {
    name: 'AuthZEN',
    path: '/access/v1/evaluations',
    body: (checks) => ({
      evaluations: checks.map(({ agent, action, resourceType, resourceId }) => ({
        subject: { type: 'agent', id: agent },
        action: { name: action },
        resource: { type: resourceType, id: resourceId },
      })),
    }),
  },
];

/** Measures lists of questions over HTTP, and the cost of conditions for an execution. */
export async function benchmarkEvaluation(workplace: Workplace, effort: Effort): Promise<void> {
  printLine();
  const rates = await checksPerSecond(workplace, effort);
  for (const [index, { name }] of LISTS.entries()) {
    const checks = rates[index] ?? [];
    const title = `${name}: checks/s in lists of ${BATCH}, ${POLICIES} policies / ${FAST}`;
    printRatio(title, ratioOf(checks, checks.map(() => FAST)), 1); // prettier-ignore
  }
  const executionRates = await executedPerSecond(workplace, effort);
  printRatio(
    'executions/s: with conditions / without',
    ratioOf(executionRates.with, executionRates.without),
    CONDITIONS_BAR,
  );
}

/** Returns the checks per second of each round, for each route. */
async function checksPerSecond(workplace: Workplace, { seconds, rounds }: Effort): Promise<number[][]> {
  const service = await ServerProcess.start(workplace, 'service', 'evaluate');
  const workload = exactMix(POLICIES);
  await applyPolicies(service, workload);
  await registerAgents(service, workload);
  const checks = workload.requests.slice(0, BATCH).map(({ subject, action, resourceType, resourceId }) => ({
    agent: 'agentName' in subject ? subject.agentName : '',
    action,
    resourceType,
    resourceId,
  }));
  const routes = LISTS.map(({ name, path, body }) => {
    const request = { method: 'POST', path, body: JSON.stringify(body(checks)) } as const;
    return { name, request, rates: [] as number[], processor: [] as number[] };
  });
  // The first round warms up the JIT compiler, and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const { request, rates, processor } of routes) {
      const { requestsPerSecond, processorMicroseconds } = await load(service, [request], seconds, FEW);
      if (round === 0) continue;
      rates.push(requestsPerSecond * BATCH);
      processor.push(processorMicroseconds / BATCH);
    }
  }
  for (const { name, processor } of routes)
    printLine(`${name}: processor time of the service for a check: ${number(median(processor), 1)} µs`);
  return routes.map(({ rates }) => rates);
}

async function registerAgents(service: ServerProcess, { requests }: Workload): Promise<void> {
  const capabilities = [...new Set(requests.map(({ action }) => action))];
  const agents = new Map(
    requests.flatMap(({ subject }) => ('agentName' in subject ? [[subject.agentName, subject.roles] as const] : [])),
  );
  for (const [name, roles] of agents) {
    await service.send('POST', '/api/v1/agents', { name, capabilities, roles: [...new Set(roles)] });
  }
}

type ExecutionRates = Record<'with' | 'without', number[]>;

async function executedPerSecond(workplace: Workplace, { seconds, rounds }: Effort): Promise<ExecutionRates> {
  const services = {
    with: await startWithConditions(workplace, 'with'),
    without: await startWithConditions(workplace, 'without'),
  };
  const path = `/api/v1/agents/${AGENT_NAME}/execute`;
  const rates: ExecutionRates = { with: [], without: [] };
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of ['with', 'without'] as const) {
      const request = { method: 'POST', path, body: JSON.stringify(EXECUTION) } as const;
      const { requestsPerSecond } = await load(services[name], [request], seconds);
      if (round > 0) rates[name].push(requestsPerSecond);
    }
  }
  return rates;
}

async function startWithConditions(workplace: Workplace, conditions: keyof ExecutionRates): Promise<ServerProcess> {
  const service = await ServerProcess.start(workplace, 'service', `${conditions}-conditions`);
  const bodies = policies(EXECUTED_WITH).map((policy) => ({
    ...policy,
    ...(conditions === 'with' && { conditions: CONDITIONS }),
  }));
  await service.send('POST', '/api/v1/policies/apply', { base: NO_POLICIES, policies: bodies });
  await service.send('POST', '/api/v1/agents', { ...AGENT, name: AGENT_NAME });
  return service;
}
