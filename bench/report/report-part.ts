import type { Effort } from '../support/effort';
import { number, printLine, printSingleRatio } from '../support/report';
import { ServerProcess } from '../support/server-process';
import type { Workplace } from '../support/workplace';
import { type Observation, observe, printObservations } from '../verification/observation';
import { seedExecutions } from './seed';

const EXECUTIONS = 1_000_000;
const OVER = 29 * 24 * 60 * 60 * 1_000;
/** Bars: seconds of the first answer and of the next, milliseconds, megabytes. */
const BARS = { first: 10, next: 1, healthP99: 50, memoryGrowth: 150 } as const;

/** Measures the cost of a report on the last 30 days, and its effect on the process and on other requests meanwhile. */
export async function benchmarkReport(workplace: Workplace, { rounds }: Effort): Promise<void> {
  await seedExecutions(workplace.path('report.db'), EXECUTIONS, OVER);
  const observations: Observation[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const service = await ServerProcess.start(workplace, 'service', 'report');
    observations.push(await observe(service, 'first', () => report(service)));
    observations.push(await observe(service, 'next', () => report(service)));
    await service.stop();
  }
  printObservations(`${number(EXECUTIONS)} executions in 29 days`, observations);
  printLine();
  const worst = (observedTitle: string, member: 'seconds' | 'p99' | 'memoryGrowth'): number =>
    Math.max(...observations.filter(({ title }) => title === observedTitle).map((observation) => observation[member]));
  const within = { atMost: 1 } as const;
  printSingleRatio(`seconds of the first, worst round / ${BARS.first}`, worst('first', 'seconds') / BARS.first, within);
  printSingleRatio(`seconds of the next, worst round / ${BARS.next}`, worst('next', 'seconds') / BARS.next, within);
  printSingleRatio(
    `p99 of GET /health meanwhile / ${BARS.healthP99} ms`,
    worst('first', 'p99') / BARS.healthP99,
    within,
  );
  printSingleRatio(
    `memory growth / ${BARS.memoryGrowth} MB`,
    worst('first', 'memoryGrowth') / BARS.memoryGrowth,
    within,
  );
}

interface Report {
  readonly requests: readonly {
    readonly allowed: number;
    readonly denied: number;
    readonly approval_requested: number;
  }[];
}

async function report(service: ServerProcess): Promise<void> {
  const { requests } = (await service.send('GET', '/api/v1/reports/oversight')) as Report;
  const total = requests.reduce((sum, day) => sum + day.allowed + day.denied + day.approval_requested, 0);
  if (total !== EXECUTIONS) throw new Error(`Only ${total} executions were counted.`);
}
