import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Effort } from '../support/effort';
import { number, printLine, printRatio, printTable } from '../support/report';
import { median, type Ratio, ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';
import type { EngineFigures } from './engine-figures';
import { disjoint, exactMix, lastDenies, mix, wildcards, type Workload } from './workload';

const COUNTS = [100, 1_000, 10_000] as const;
const [MIN_COUNT, , MAX_COUNT] = COUNTS;
/** Checks per second. */
const FAST = 500_000;
const FLAT = { atMost: 2 } as const;
/** Folder of the engines, as seen from the compiled benchmark. */
const ENGINES = join(__dirname, '../../../../../bench/engines');
const PROGRAMS = {
  evaluator: join(__dirname, 'evaluator-program.js'),
  casbin: join(ENGINES, 'casbin.mjs'),
  'cedar-wasm': join(ENGINES, 'cedar.mjs'),
} as const;

type Engine = keyof typeof PROGRAMS;

const EVERY_ENGINE = ['evaluator', 'casbin', 'cedar-wasm'] as const;

interface Kind {
  readonly title: string;
  readonly workload: (count: number) => Workload;
  readonly engines: readonly Engine[];
  /**
   * Bar of the ratio of the time with the most policies to the time with the fewest. A mix has no bar: in it, more
   * policies match.
   */
  readonly growth?: typeof FLAT;
}

const KINDS: readonly Kind[] = [
  { title: 'disjoint resources', workload: disjoint, engines: EVERY_ENGINE, growth: FLAT },
  { title: 'all wildcards', workload: wildcards, engines: EVERY_ENGINE, growth: FLAT },
  { title: 'mix, one priority', workload: mix, engines: EVERY_ENGINE },
  // The other engines do not have priorities.
  { title: 'mix, four priorities', workload: (count) => mix(count, 4), engines: ['evaluator'] },
  { title: 'mix, few match', workload: exactMix, engines: ['evaluator'] },
  { title: 'all match, the newest denies', workload: lastDenies, engines: ['evaluator'], growth: FLAT },
];

const COMPARED_REQUESTS = 20;
/** Maximum seconds of a round. A check by the slowest engine takes tens of milliseconds. */
const MAX_ROUND_SECONDS = 0.5;
const MAX_ROUNDS = 3;

/**
 * Compares the evaluator with two other engines, which get the same policies and requests and must return the same
 * answers.
 */
export async function benchmarkPolicies(workplace: Workplace, effort: Effort): Promise<void> {
  const engines = installEngines() ? EVERY_ENGINE : (['evaluator'] as const);
  for (const kind of KINDS) {
    const rates = new Map<string, readonly number[]>();
    for (const count of COUNTS) {
      const file = workplace.path(`${kind.title}-${count}.json`);
      writeFileSync(file, JSON.stringify(kind.workload(count)));
      const selected = engines.filter((engine) => kind.engines.includes(engine));
      const figures = selected.map((engine) => [engine, run(engine, file, effort)] as const);
      requireSameAnswers(figures);
      for (const [engine, { checksPerSecond }] of figures) rates.set(`${engine} ${count}`, checksPerSecond);
    }
    report(kind, engines, rates);
  }
}

/** Installs the engines, in the versions of their lock file. Returns false if that fails. */
function installEngines(): boolean {
  if (existsSync(join(ENGINES, 'node_modules'))) return true;
  try {
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: ENGINES, stdio: 'pipe' });
    return true;
  } catch {
    printLine(`SKIPPED: casbin and cedar-wasm could not be installed in ${ENGINES}.`);
    return false;
  }
}

function run(engine: Engine, file: string, { seconds, rounds }: Effort): EngineFigures {
  const effort = [Math.min(seconds, MAX_ROUND_SECONDS), Math.min(rounds, MAX_ROUNDS), COMPARED_REQUESTS];
  const output = execFileSync(process.execPath, [PROGRAMS[engine], file, ...effort.map(String)], { encoding: 'utf8' });
  return JSON.parse(output) as EngineFigures;
}

function requireSameAnswers(figures: readonly (readonly [Engine, EngineFigures])[]): void {
  const [reference] = figures;
  for (const [engine, { allowed }] of figures) {
    if (JSON.stringify(allowed) === JSON.stringify(reference?.[1].allowed)) continue;
    throw new Error(`${engine} comes to other answers: its figures would say nothing.`);
  }
}

function report(kind: Kind, engines: readonly Engine[], rates: ReadonlyMap<string, readonly number[]>): void {
  const ratesOf = (engine: Engine, count: number): readonly number[] => rates.get(`${engine} ${count}`) ?? [];
  const selected = engines.filter((engine) => kind.engines.includes(engine));
  printTable(
    [`${kind.title}: checks/s`, ...COUNTS.map((count) => `${number(count)} policies`)],
    selected.map((engine) => [engine, ...COUNTS.map((count) => number(median(ratesOf(engine, count))))]),
  );
  printLine();
  const { title } = kind;
  const most = ratesOf('evaluator', MAX_COUNT);
  printRatio(`${title}: checks/s at ${number(MAX_COUNT)} policies / ${number(FAST)}`, dividedBy(most, FAST), 1);
  const growth = ratioOf(ratesOf('evaluator', MIN_COUNT), most);
  printRatio(`${title}: time of a check at ${number(MAX_COUNT)} / at ${MIN_COUNT}`, growth, kind.growth);
  for (const engine of selected.filter((name) => name !== 'evaluator')) {
    printRatio(
      `${title}: checks/s at ${number(MAX_COUNT)}: evaluator / ${engine}`,
      ratioOf(most, ratesOf(engine, MAX_COUNT)),
    );
  }
}

function dividedBy(values: readonly number[], divisor: number): Ratio {
  return ratioOf(
    values,
    values.map(() => divisor),
  );
}
