import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Effort } from '../parts';
import { LoopProcess } from '../ledger/loop-process';
import { number, printLine, printRatio, printSingleRatio, printTable } from '../support/report';
import { ServerProcess } from '../support/server-process';
import { percentile, ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';
import { HealthProbe } from './health-probe';

const ENTRIES = 100_000;
const MEGABYTE = 1_000_000;
/** Milliseconds, megabytes, and the share of the bare loop's speed. */
const BARS = { healthP99: 50, memoryGrowth: 100, speed: 0.5 } as const;
const BARE_LOOP = join(__dirname, 'bare-loop.js');
/** Of memory, in milliseconds. */
const SAMPLE_INTERVAL = 20;

interface Observation {
  readonly title: string;
  readonly seconds: number;
  readonly probes: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  /** Megabytes above what the process held before. */
  readonly memoryGrowth: number;
}

/** What a verification of a long chain does to the process and to those who ask it for its health meanwhile. */
export async function benchmarkVerification(workplace: Workplace, { seconds, rounds }: Effort): Promise<void> {
  await fill(workplace);
  const service = await ServerProcess.start(workplace, 'service', 'long chain');
  await observe(service, 'start', () => pause(seconds));
  const observations: Observation[] = [];
  const bare: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    observations.push(await observe(service, 'idle', () => pause(seconds)));
    observations.push(await observe(service, 'verifying', () => verify(service)));
    bare.push(bareSeconds(workplace.path('long chain.db')));
  }
  report(observations, bare);
}

async function fill(workplace: Workplace): Promise<void> {
  const loop = await LoopProcess.start(workplace, 'ledger', 'long chain');
  await loop.run({ kind: 'create entity', commands: ENTRIES });
  await loop.stop();
}

function bareSeconds(database: string): number {
  return Number(execFileSync(process.execPath, [BARE_LOOP, database], { encoding: 'utf8' }));
}

async function verify(service: ServerProcess): Promise<void> {
  const verdict = (await service.send('POST', '/api/v1/provenance/verify')) as { valid: boolean };
  if (!verdict.valid) throw new Error(`The chain does not verify: ${JSON.stringify(verdict)}`);
}

async function observe(service: ServerProcess, title: string, work: () => Promise<void>): Promise<Observation> {
  const memoryBefore = service.residentBytes;
  let memoryMost = memoryBefore;
  const sampling = setInterval(() => {
    memoryMost = Math.max(memoryMost, service.residentBytes);
  }, SAMPLE_INTERVAL);
  const probe = new HealthProbe(service.url);
  const start = performance.now();
  await work();
  const elapsed = performance.now() - start;
  const { latencies, failed } = await probe.stop();
  clearInterval(sampling);
  return {
    title,
    seconds: elapsed / 1000,
    probes: latencies.length,
    failed,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    memoryGrowth: (memoryMost - memoryBefore) / MEGABYTE,
  };
}

function report(observations: readonly Observation[], bare: readonly number[]): void {
  const header = [
    `${number(ENTRIES)} entries`,
    'seconds',
    'GET /health',
    'failed',
    'p50 ms',
    'p99 ms',
    'memory growth MB',
  ];
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
  printLine();
  const verifying = observations.filter(({ title }) => title === 'verifying');
  const seconds = verifying.map((each) => each.seconds);
  printRatio('entries/s: verification / bare loop', ratioOf(bare, seconds), BARS.speed);
  const worst = (member: 'p99' | 'memoryGrowth'): number => Math.max(...verifying.map((each) => each[member]));
  const { healthP99, memoryGrowth } = BARS;
  const within = { atMost: 1 } as const;
  printSingleRatio(`p99 of GET /health meanwhile, worst round / ${healthP99} ms`, worst('p99') / healthP99, within);
  const growth = worst('memoryGrowth') / memoryGrowth;
  printSingleRatio(`memory growth by it, worst round / ${memoryGrowth} MB`, growth, within);
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
