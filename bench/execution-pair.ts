import { load } from './http/load';
import { AGENT, EXECUTION, policies } from './ledger/samples';
import type { Effort } from './support/effort';
import { printRatio } from './support/report';
import { ServerProcess } from './support/server-process';
import { ratioOf } from './support/statistics';
import type { Workplace } from './support/workplace';

const POLICIES = 1_000;
const TEAMS = 20;
const BAR = 0.98;
const AGENT_NAME = 'invoice-bot';

/** Two services with 1,000 policies that differ in one thing, whose cost for an execution is measured. */
interface ServicePair {
  readonly measured: ServerProcess;
  readonly reference: ServerProcess;
}

/** Measures the cost for an execution of an agent and policies that belong to teams, twenty in all. */
export async function benchmarkTeams(workplace: Workplace, effort: Effort): Promise<void> {
  const pair = {
    reference: await serviceWith(workplace, { name: 'without-teams' }),
    measured: await serviceWith(workplace, { name: 'with-teams', teams: TEAMS }),
  };
  await measurePair('executions/s over HTTP: 1,000 policies of 20 teams / of none', pair, effort);
}

/** Measures the cost of the search for the usual secrets in an execution that has none. */
export async function benchmarkSecrets(workplace: Workplace, effort: Effort): Promise<void> {
  const pair = {
    reference: await serviceWith(workplace, { name: 'no-pointers', environment: { SECRET_PARAMETERS: 'none' } }),
    measured: await serviceWith(workplace, { name: 'usual-pointers' }),
  };
  await measurePair('executions/s over HTTP: the usual secret pointers / none', pair, effort);
}

async function measurePair(title: string, pair: ServicePair, { seconds, rounds }: Effort): Promise<void> {
  const rates: Record<keyof ServicePair, number[]> = { reference: [], measured: [] };
  const body = JSON.stringify(EXECUTION);
  const request = { method: 'POST', path: `/api/v1/agents/${AGENT_NAME}/execute`, body } as const;
  // The first round warms up the JIT compiler, and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of ['reference', 'measured'] as const) {
      const { requestsPerSecond } = await load(pair[name], [request], seconds);
      if (round > 0) rates[name].push(requestsPerSecond);
    }
  }
  printRatio(title, ratioOf(rates.measured, rates.reference), BAR);
}

interface ServiceOptions {
  readonly name: string;
  /** Number of teams over which the policies are spread; the agent is in the first. Default: 0. */
  readonly teams?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

async function serviceWith(
  workplace: Workplace,
  { name, teams = 0, environment = {} }: ServiceOptions,
): Promise<ServerProcess> {
  const service = await ServerProcess.start(workplace, 'service', name, environment);
  const own = (index: number): object => (teams === 0 ? {} : { team: `team-${index % teams}` });
  for (const [index, policy] of policies(POLICIES).entries())
    await service.send('POST', '/api/v1/policies', { ...policy, ...own(index) });
  await service.send('POST', '/api/v1/agents', { ...AGENT, name: AGENT_NAME, ...own(0) });
  return service;
}
