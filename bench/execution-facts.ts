import type { CreatePolicyRequest } from '../src/governance/policies/dto/policy.dto';
import { load } from './http/load';
import { AGENT, EXECUTION, policies } from './ledger/samples';
import { NO_POLICIES } from './policies/applied-policies';
import type { Effort } from './support/effort';
import type { LoadRequest } from './support/load-generator';
import { printRatio } from './support/report';
import { ServerProcess } from './support/server-process';
import { ratioOf } from './support/statistics';
import type { Workplace } from './support/workplace';

const ALL = 1_000;
/** Number of folders. Each has a policy with a limit, and a policy with a condition on the run or on claims. */
const FOLDERS = 10;
const BAR = 0.85;
const AGENT_NAME = 'invoice-bot';
const ACCOUNT = { predicate: 'account', value: 'DE02', context: { confidence: 0.95 } };
/** Stands for a run in each request. */
const RUN = '00000000-0000-0000-0000-000000000000';

type Rates = Record<'plain' | 'withFacts', number[]>;

/** Measures the cost for an execution of a limit, a condition on the run and a condition on claims. */
export async function benchmarkFacts(workplace: Workplace, { seconds, rounds }: Effort): Promise<void> {
  const services = {
    plain: await serviceWith(workplace, 'plain', policies(ALL)),
    withFacts: await serviceWith(workplace, 'with-facts', [...policies(ALL - 2 * FOLDERS), ...policiesWithFacts()]),
  };
  const rates: Rates = { plain: [], withFacts: [] };
  // The first round warms up the JIT compiler, and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of ['plain', 'withFacts'] as const) {
      const { service, requests } = services[name];
      const { requestsPerSecond } = await load(service, requests, seconds);
      if (round > 0) rates[name].push(requestsPerSecond);
    }
  }
  const title = 'executions/s over HTTP: 1,000 policies, 20 of which ask more / none';
  printRatio(title, ratioOf(rates.withFacts, rates.plain), BAR);
}

function policiesWithFacts(): CreatePolicyRequest[] {
  const base = { version: '1.0', effect: 'allow', subjects: ['role:billing'], actions: ['send-invoice'] } as const;
  return Array.from({ length: FOLDERS }, (_, folder): CreatePolicyRequest[] => {
    const common = { ...base, resources: [`invoices/${folder}/*`], priority: 10 };
    const limits = [{ max: 999_999_999_999, of: '/copies', per: 'day', by: 'agent' } as const];
    const claimCondition = { claim: ACCOUNT.predicate, op: 'supports', parameter: '/account', value: 0.9 } as const;
    const earlierCondition = { earlier: 'export-*', op: 'exists', value: true } as const;
    return [
      { ...common, name: `limit-${folder}`, limits },
      folder % 2 === 0
        ? { ...common, name: `claim-${folder}`, conditions: [claimCondition] }
        : { ...common, name: `run-${folder}`, effect: 'deny', priority: 20, conditions: [earlierCondition] },
    ];
  }).flat();
}

interface Target {
  readonly service: ServerProcess;
  readonly requests: readonly LoadRequest[];
}

async function serviceWith(workplace: Workplace, name: string, bodies: CreatePolicyRequest[]): Promise<Target> {
  const service = await ServerProcess.start(workplace, 'service', `${name}-policies`);
  await service.send('POST', '/api/v1/policies/apply', { base: NO_POLICIES, policies: bodies });
  await service.send('POST', '/api/v1/agents', { ...AGENT, name: AGENT_NAME });
  const requests: LoadRequest[] = [];
  for (let folder = 0; folder < FOLDERS; folder += 1) {
    const supplier = { type: 'supplier', name: `supplier ${folder}` };
    const { id } = (await service.send('POST', '/api/v1/entities', supplier)) as { readonly id: string };
    await service.send('POST', `/api/v1/entities/${id}/claims`, ACCOUNT);
    const parameters = { ...EXECUTION.parameters, recipient: RUN, account: ACCOUNT.value };
    const body = JSON.stringify({ ...EXECUTION, resourceId: `invoices/${folder}/${id}`, parameters, run: RUN });
    requests.push({ method: 'POST', path: `/api/v1/agents/${AGENT_NAME}/execute`, body, freshText: RUN });
  }
  return { service, requests };
}
