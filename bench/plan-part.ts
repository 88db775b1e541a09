import type { Effort } from './support/effort';
import { applyPolicies, policyBodies } from './policies/applied-policies';
import { mix } from './policies/workload';
import { printLine, printRatio, printSingleRatio } from './support/report';
import { ServerProcess } from './support/server-process';
import { ratioOf } from './support/statistics';
import type { Workplace } from './support/workplace';
import { observe, printObservations } from './verification/observation';

const AGENTS = 1_000;
const ROLES = 500;
const ROLES_OF_AN_AGENT = 50;
const AGENTS_AT_ONCE = 50;

/** Bars: milliseconds, and megabytes of growth of the process's memory. */
const BARS = { healthP99: 50, memoryGrowth: 300 } as const;

/** Numbers of policies in force and of those that change, and the seconds that a plan may take. */
const PLANS = [
  { policies: 2_000, changes: 1, seconds: 1 },
  { policies: 10_000, changes: 10, seconds: 10 },
] as const;

/** Measures the cost of planning changes to many policies, for 1,000 agents with 50 roles each. */
export async function benchmarkPlans(workplace: Workplace, { rounds }: Effort): Promise<void> {
  printLine();
  for (const { policies, changes, seconds } of PLANS) {
    const service = await ServerProcess.start(workplace, 'service', `plan-${policies}`);
    const workload = mix(policies);
    await applyPolicies(service, workload);
    await register(service);
    const changedPolicies = policyBodies(workload)
      .slice(0, changes)
      .map((body) => ({ ...body, version: '2.0', effect: 'deny' }));
    const durations: number[] = [];
    const incomplete: unknown[] = [];
    const observation = await observe(service, 'planning', async () => {
      for (let round = 0; round < rounds; round += 1) {
        const start = performance.now();
        const plan = await service.send('POST', '/api/v1/policies/plan', { policies: changedPolicies });
        durations.push((performance.now() - start) / 1000);
        if (!(plan as { complete: boolean }).complete) incomplete.push(plan);
      }
    });
    const label = `${changes} of ${policies} policies${incomplete.length === 0 ? '' : ', incomplete'}`;
    printRatio(`seconds of a plan, ${label} / ${seconds}`, ratioOf(durations, durations.map(() => seconds)), { atMost: 1 }); // prettier-ignore
    printObservations(label, [observation]);
    printSingleRatio(`p99 of GET /health meanwhile / ${BARS.healthP99} ms`, observation.p99 / BARS.healthP99, { atMost: 1 }); // prettier-ignore
    printSingleRatio(`memory growth / ${BARS.memoryGrowth} MB`, observation.memoryGrowth / BARS.memoryGrowth, { atMost: 1 }); // prettier-ignore
    await service.stop();
  }
}

async function register(service: ServerProcess): Promise<void> {
  for (let start = 0; start < AGENTS; start += AGENTS_AT_ONCE) {
    const some = Array.from({ length: AGENTS_AT_ONCE }, (_, index) => agent(start + index));
    await Promise.all(some.map((body) => service.send('POST', '/api/v1/agents', body)));
  }
}

function agent(index: number): object {
  const roles = Array.from({ length: ROLES_OF_AN_AGENT }, (_, nth) => `team-${(index + nth * 7) % ROLES}`);
  return { name: `agent-${index}`, capabilities: ['read'], roles };
}
