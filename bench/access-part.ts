import type { AgentSubject } from '../src/governance/policies/patterns/subjects';
import type { Effort } from './support/effort';
import { applyPolicies } from './policies/applied-policies';
import { mix } from './policies/workload';
import { printLine, printRatio, printSingleRatio } from './support/report';
import { ServerProcess } from './support/server-process';
import { ratioOf } from './support/statistics';
import type { Workplace } from './support/workplace';
import { observe, printObservations } from './verification/observation';

const POLICIES = 1_000;
/** Answers of a round: a single answer takes too little time for a percentile of the waits of other requests. */
const ANSWERS = 20;
/** Bars: seconds of an answer, and milliseconds of the 99th percentile. */
const BARS = { seconds: 1, healthP99: 250 } as const;

/** Measures the cost of listing the access of an agent with all capabilities, now and at an earlier time. */
export async function benchmarkAccess(workplace: Workplace, { rounds }: Effort): Promise<void> {
  printLine();
  const service = await ServerProcess.start(workplace, 'service', 'access');
  const workload = mix(POLICIES);
  await applyPolicies(service, workload);
  const subject = workload.requests.find(({ subject }) => 'agentName' in subject)?.subject as AgentSubject;
  const body = { name: subject.agentName, capabilities: ['*'], roles: [...new Set(subject.roles)] };
  const { id } = (await service.send('POST', '/api/v1/agents', body)) as { id: string };
  const { data } = (await service.send('GET', '/api/v1/audit?limit=1')) as { data: readonly { sequence: number }[] };
  for (const query of ['', `?asOf=${data[0]?.sequence}`]) {
    const label = query === '' ? 'access, now' : 'access, as of then';
    const durations: number[] = [];
    let incomplete = '';
    const observation = await observe(service, label, async () => {
      for (let round = 0; round < rounds * ANSWERS; round += 1) {
        const start = performance.now();
        const access = await service.send('GET', `/api/v1/agents/${id}/access${query}`);
        durations.push((performance.now() - start) / 1000);
        if (!(access as { complete: boolean }).complete) incomplete = ', incomplete';
      }
    });
    printObservations(`${POLICIES} policies${incomplete}`, [observation]);
    printRatio(`seconds of ${label}, ${POLICIES} policies${incomplete} / ${BARS.seconds}`, ratioOf(durations, durations.map(() => BARS.seconds)), { atMost: 1 }); // prettier-ignore
    printSingleRatio(`p99 of GET /health meanwhile, ${label} / ${BARS.healthP99} ms`, observation.p99 / BARS.healthP99, { atMost: 1 }); // prettier-ignore
  }
  await service.stop();
}
