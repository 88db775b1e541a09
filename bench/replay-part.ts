import { LoopProcess } from './ledger/loop-process';
import { policies } from './ledger/samples';
import type { Effort } from './support/effort';
import { number, printLine, printSingleRatio } from './support/report';
import { ServerProcess } from './support/server-process';
import type { Workplace } from './support/workplace';
import { type Observation, observe, printObservations } from './verification/observation';

const EXECUTIONS = 100_000;
const POLICIES = 1_000;
/** Bars: seconds, milliseconds, megabytes. */
const BARS = { seconds: 30, healthP99: 50, memoryGrowth: 100 } as const;
/** A policy that changes the answers to all executions. */
const CLOSED = {
  name: 'closed',
  version: '1',
  effect: 'deny',
  priority: 100,
  subjects: ['*'],
  actions: ['*'],
  resources: ['invoices/*'],
};

/** Measures the cost of a plan with replay, and its effect on the process and on other requests meanwhile. */
export async function benchmarkReplay(workplace: Workplace, { seconds, rounds }: Effort): Promise<void> {
  const loop = await LoopProcess.start(workplace, 'ledger', 'replay', [String(POLICIES)]);
  await loop.run({ kind: 'execute', commands: EXECUTIONS });
  await loop.stop();
  const service = await ServerProcess.start(workplace, 'service', 'replay');
  const observations: Observation[] = [];
  for (let round = 0; round < rounds; round += 1) {
    observations.push(await observe(service, 'idle', () => pause(seconds)));
    observations.push(await observe(service, 'replaying', () => replay(service)));
  }
  printObservations(`${number(EXECUTIONS)} executions, ${number(policies(POLICIES).length)} policies`, observations);
  printLine();
  const replays = observations.filter(({ title }) => title === 'replaying');
  const worst = (member: 'seconds' | 'p99' | 'memoryGrowth'): number =>
    Math.max(...replays.map((observation) => observation[member]));
  const within = { atMost: 1 } as const;
  printSingleRatio(`seconds, worst round / ${BARS.seconds}`, worst('seconds') / BARS.seconds, within);
  printSingleRatio(`p99 of GET /health meanwhile / ${BARS.healthP99} ms`, worst('p99') / BARS.healthP99, within);
  printSingleRatio(`memory growth / ${BARS.memoryGrowth} MB`, worst('memoryGrowth') / BARS.memoryGrowth, within);
}

async function replay(service: ServerProcess): Promise<void> {
  const body = { policies: [CLOSED], replay: {} };
  const plan = (await service.send('POST', '/api/v1/policies/plan', body)) as { replay: { changed: number } };
  if (plan.replay.changed !== EXECUTIONS) throw new Error(`Only ${plan.replay.changed} executions were changed.`);
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
