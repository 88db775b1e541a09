import type { Effort } from '../parts';
import { number, printLine, printRatio, printTable } from '../support/report';
import { ServerProcess } from '../support/server-process';
import { median, ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';
import { COMMAND_KINDS, type CommandKind, type LoopFigures } from './command-kind';
import { type LoopName, LoopProcess } from './loop-process';
import { rowsPerTable } from './rows-per-table';

const LOOPS: readonly LoopName[] = ['ledger', 'raw driver'];
const BAR = 0.5;
/** Commands of one measurement, per second asked for. */
const COMMANDS_PER_SECOND = 10_000;

type Figures = Readonly<Record<LoopName, LoopFigures[]>>;

/** The ledger, called as the controllers call it, against the least code that does the same durable work. */
export async function benchmarkLedger(workplace: Workplace, effort: Effort): Promise<void> {
  const loops = new Map<LoopName, LoopProcess>();
  for (const name of LOOPS) loops.set(name, await LoopProcess.start(workplace, name, name));
  const all = new Map<CommandKind, Figures>();
  for (const kind of COMMAND_KINDS) all.set(kind, await measure(loops, kind, effort));
  report(all, effort);
  for (const loop of loops.values()) await loop.stop();
  await checkReference(workplace);
}

async function measure(
  loops: ReadonlyMap<LoopName, LoopProcess>,
  kind: CommandKind,
  { seconds, rounds }: Effort,
): Promise<Figures> {
  const figures: Figures = { ledger: [], 'raw driver': [] };
  const commands = Math.ceil(seconds * COMMANDS_PER_SECOND);
  // The first round is for the compiler of the engine, and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, loop] of loops) {
      const measured = await loop.run({ kind, commands });
      if (round > 0) figures[name].push(measured);
    }
  }
  return figures;
}

function report(all: ReadonlyMap<CommandKind, Figures>, { seconds, rounds }: Effort): void {
  const commands = number(seconds * COMMANDS_PER_SECOND);
  const header = [`${rounds} × ${commands} commands`, 'commands/s', 'p50 ms', 'p99 ms', 'processor µs/command'];
  const rows = [...all].flatMap(([kind, figures]) => LOOPS.map((name) => rowOf(`${kind}: ${name}`, figures[name])));
  printTable(header, rows);
  printLine();
  for (const [kind, figures] of all) {
    const rate = (name: LoopName): number[] => figures[name].map(({ commandsPerSecond }) => commandsPerSecond);
    printRatio(`commands/s, ${kind}: ledger / raw driver`, ratioOf(rate('ledger'), rate('raw driver')), BAR);
  }
}

function rowOf(title: string, rounds: readonly LoopFigures[]): string[] {
  const middle = (member: keyof LoopFigures): number => median(rounds.map((round) => round[member]));
  return [
    title,
    number(middle('commandsPerSecond')),
    number(middle('p50'), 2),
    number(middle('p99'), 2),
    number(middle('processorMicroseconds'), 1),
  ];
}

/** That the reference did the same work is shown by what both left behind, and by the service, which verifies its chain. */
async function checkReference(workplace: Workplace): Promise<void> {
  const [ledger, raw] = [
    await rowsPerTable(workplace.path('ledger.db')),
    await rowsPerTable(workplace.path('raw driver.db')),
  ];
  const different = Object.keys(ledger).filter((table) => ledger[table] !== raw[table]);
  printLine(
    `\nTables with as many rows of the ledger as of the raw driver: ${different.length === 0 ? 'all' : 'not all'}`,
  );
  for (const table of different) printLine(`  ${table}: ${ledger[table]} and ${raw[table]}`);
  const service = await ServerProcess.start(workplace, 'service', 'raw driver');
  const verdict = await service.send('POST', '/api/v1/provenance/verify');
  printLine(`The service's verification of what the raw driver wrote: ${JSON.stringify(verdict)}`);
}
