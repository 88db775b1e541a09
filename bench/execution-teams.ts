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

type Rates = Record<'withTeams' | 'without', number[]>;

/** Measures what it costs an execution that its agent and the policies belong to teams, twenty in all. */
export async function benchmarkTeams(workplace: Workplace, { seconds, rounds }: Effort): Promise<void> {
  const services = {
    without: await serviceWith(workplace, 'without-teams', () => null),
    withTeams: await serviceWith(workplace, 'with-teams', (index) => `team-${index % TEAMS}`),
  };
  const rates: Rates = { without: [], withTeams: [] };
  const body = JSON.stringify(EXECUTION);
  const request = { method: 'POST', path: `/api/v1/agents/${AGENT_NAME}/execute`, body } as const;
  // The first round warms up the JIT compiler, and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of ['without', 'withTeams'] as const) {
      const { requestsPerSecond } = await load(services[name], [request], seconds);
      if (round > 0) rates[name].push(requestsPerSecond);
    }
  }
  const title = 'executions/s over HTTP: 1,000 policies of 20 teams / of none';
  printRatio(title, ratioOf(rates.withTeams, rates.without), BAR);
}

async function serviceWith(
  workplace: Workplace,
  name: string,
  teamOf: (index: number) => string | null,
): Promise<ServerProcess> {
  const service = await ServerProcess.start(workplace, 'service', name);
  const own = (index: number): object => {
    const team = teamOf(index);
    return team === null ? {} : { team };
  };
  for (const [index, policy] of policies(POLICIES).entries())
    await service.send('POST', '/api/v1/policies', { ...policy, ...own(index) });
  await service.send('POST', '/api/v1/agents', { ...AGENT, name: AGENT_NAME, ...own(0) });
  return service;
}
