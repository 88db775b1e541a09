import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Effort } from '../support/effort';
import { LoopProcess } from '../ledger/loop-process';
import { number, printLine, printRatio, printSingleRatio } from '../support/report';
import { ServerProcess } from '../support/server-process';
import { ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';
import { type Observation, observe, printObservations } from './observation';

const ENTRIES = 100_000;
/** Bars: milliseconds, megabytes, and the share of the bare loop's speed. */
const BARS = { healthP99: 50, memoryGrowth: 100, speed: 0.5 } as const;
const BARE_LOOP = join(__dirname, 'bare-loop.js');

/** Measures the effect of the verification of a long chain on the process and on health requests meanwhile. */
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

function report(observations: readonly Observation[], bare: readonly number[]): void {
  printObservations(`${number(ENTRIES)} entries`, observations);
  printLine();
  const verifications = observations.filter(({ title }) => title === 'verifying');
  const seconds = verifications.map((observation) => observation.seconds);
  printRatio('entries/s: verification / bare loop', ratioOf(bare, seconds), BARS.speed);
  const worst = (member: 'p99' | 'memoryGrowth'): number =>
    Math.max(...verifications.map((observation) => observation[member]));
  const { healthP99, memoryGrowth } = BARS;
  const within = { atMost: 1 } as const;
  printSingleRatio(`p99 of GET /health meanwhile, worst round / ${healthP99} ms`, worst('p99') / healthP99, within);
  const growth = worst('memoryGrowth') / memoryGrowth;
  printSingleRatio(`memory growth by it, worst round / ${memoryGrowth} MB`, growth, within);
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
