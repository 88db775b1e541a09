import { number, printTable } from '../support/report';
import type { ServerProcess } from '../support/server-process';
import { percentile } from '../support/statistics';
import { HealthProbe } from './health-probe';

const MEGABYTE = 1_000_000;
/** Milliseconds between two samples of memory. */
const SAMPLE_INTERVAL = 20;

/** The effect of some work on the process and on health requests meanwhile. */
export interface Observation {
  readonly title: string;
  readonly seconds: number;
  readonly probes: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  /** Megabytes by which the memory of the process grew. */
  readonly memoryGrowth: number;
}

export async function observe(service: ServerProcess, title: string, work: () => Promise<void>): Promise<Observation> {
  const memoryBefore = service.residentBytes;
  let memoryMost = memoryBefore;
  const timer = setInterval(() => {
    memoryMost = Math.max(memoryMost, service.residentBytes);
  }, SAMPLE_INTERVAL);
  const probe = new HealthProbe(service.url);
  const start = performance.now();
  await work();
  const milliseconds = performance.now() - start;
  const { latencies, failed } = await probe.stop();
  clearInterval(timer);
  return {
    title,
    seconds: milliseconds / 1000,
    probes: latencies.length,
    failed,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    memoryGrowth: (memoryMost - memoryBefore) / MEGABYTE,
  };
}

/** @param label the heading above the titles. */
export function printObservations(label: string, observations: readonly Observation[]): void {
  const header = [label, 'seconds', 'GET /health', 'failed', 'p50 ms', 'p99 ms', 'memory growth MB'];
  const row = ({ title, seconds, probes, failed, p50, p99, memoryGrowth }: Observation): string[] => [
    title,
    number(seconds, 2),
    number(probes),
    number(failed),
    number(p50, 1),
    number(p99, 1),
    number(memoryGrowth, 1),
  ];
  printTable(header, observations.map(row));
}
