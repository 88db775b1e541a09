import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { seed } from '../growth/seed';
import type { Effort } from '../support/effort';
import { postgresDatabase } from '../support/postgres-server';
import { residentBytes } from '../support/process-figures';
import { number, printLine, printSingleRatio } from '../support/report';
import { ALLOCATOR, SERVICE_FLAGS, serviceSettings } from '../support/settings';
import type { Workplace } from '../support/workplace';

const SMALL = 100_000;
const LARGE = 1_000_000;
/** Bars: the seconds of the move of the large database, and the ratio of its memory to the small one's. */
const BARS = { seconds: 300, memory: 1.25 } as const;
const SAMPLE_INTERVAL_MS = 100;
const PROGRAM = join(__dirname, '../../src/main.js');

interface Move {
  readonly seconds: number;
  /** The most memory that the program held. */
  readonly residentBytes: number;
}

/** Moves a database of a million entries from SQLite to PostgreSQL, and one of a tenth, to see whether memory grows. */
export async function benchmarkMove(workplace: Workplace, { postgres }: Effort): Promise<void> {
  const small = await seedAndMove(workplace, SMALL, postgres);
  const large = await seedAndMove(workplace, LARGE, postgres);
  printLine();
  const title = `seconds to move ${number(LARGE)} entries / ${BARS.seconds}`;
  printSingleRatio(title, large.seconds / BARS.seconds, { atMost: 1 });
  printSingleRatio(
    `most memory of the move: ${number(LARGE)} entries / ${number(SMALL)}`,
    large.residentBytes / small.residentBytes,
    { atMost: BARS.memory },
  );
}

async function seedAndMove(workplace: Workplace, entries: number, server: string): Promise<Move> {
  const folder = workplace.path(`move-${entries}`);
  mkdirSync(folder);
  const path = join(folder, 'governance.db');
  await seed(path, { entities: entries, policies: 0 });
  const { DATABASE_URL: target } = await postgresDatabase(workplace, server);
  const move = await moveTo(workplace, path, target);
  const megabytes = (bytes: number): string => `${number(bytes / 2 ** 20)} MiB`;
  const size = megabytes(statSync(path).size);
  printLine(
    `${number(entries)} entries, ${size}: ${number(move.seconds)} s, ${megabytes(move.residentBytes)} of memory`,
  );
  return move;
}

async function moveTo(workplace: Workplace, path: string, target: string): Promise<Move> {
  const log = workplace.openLog('move');
  // The files that the move copies for the target are below the folder in which it runs.
  const start = performance.now();
  const child = spawn(process.execPath, [...SERVICE_FLAGS, PROGRAM, 'move', '--to', target], {
    cwd: dirname(path),
    env: { ...ALLOCATOR, ...serviceSettings(path) },
    stdio: ['ignore', log, log],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('The program that moves databases did not start.');
  let most = 0;
  const sampling = setInterval(() => {
    const held = residentBytes(pid);
    if (held > most) most = held;
  }, SAMPLE_INTERVAL_MS);
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  clearInterval(sampling);
  if (exitCode !== 0) throw new Error(`The move ended with exit code ${exitCode}: see ${workplace.path('move.log')}.`);
  return { seconds: (performance.now() - start) / 1_000, residentBytes: most };
}
