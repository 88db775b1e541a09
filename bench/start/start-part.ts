import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Effort } from '../support/effort';
import { number, printLine, printRatio } from '../support/report';
import { ServerProcess } from '../support/server-process';
import { median, ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';

const REFERENCE = join(__dirname, 'fixed-packages.js');
const BAR = { atMost: 1.5 };

/** Compares the processor time of a start on an existing database with that of loading the fixed packages. */
export async function benchmarkStart(workplace: Workplace, { rounds }: Effort): Promise<void> {
  await startSeconds(workplace);
  const [service, packages]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    service.push(await startSeconds(workplace));
    packages.push(await packageSeconds());
  }
  printLine();
  printLine(
    `processor time of a start: ${number(median(service), 2)} s; of loading the fixed packages: ${number(median(packages), 2)} s`,
  );
  printRatio('start, processor: service / fixed packages', ratioOf(service, packages), BAR);
}

async function startSeconds(workplace: Workplace): Promise<number> {
  const server = await ServerProcess.start(workplace, 'service', 'start');
  const seconds = server.processorSeconds;
  await server.stop();
  return seconds;
}

async function packageSeconds(): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [REFERENCE]);
  return Number(stdout);
}
