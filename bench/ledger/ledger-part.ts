import type { Effort } from '../support/effort';
import { postgresDatabase, postgresVersion } from '../support/postgres-server';
import { number, printLine, printRatio, printTable } from '../support/report';
import { ServerProcess } from '../support/server-process';
import { median, ratioOf } from '../support/statistics';
import type { Workplace } from '../support/workplace';
import { COMMAND_KINDS, type CommandKind, type LoopFigures } from './command-kind';
import { type LoopName, LoopProcess } from './loop-process';
import { rowsPerTable } from './rows-per-table';

/** Bars of the ratio to the commands per second of the raw loop. */
const BARS = { sqlite: 0.7, postgres: 0.5 } as const;
/** Number of commands of one measurement, per second of `--seconds`. */
const COMMANDS_PER_SECOND = 10_000;

/** A loop of commands on a database of its own. */
interface Side {
  readonly title: string;
  readonly loop: LoopName;
  readonly environment: Readonly<Record<string, string>>;
}

/** A measured side, and its reference. */
type Sides = readonly [measured: Side, reference: Side];
type Figures = readonly [measured: LoopFigures[], reference: LoopFigures[]];

/** Compares the ledger, called as the controllers call it, with the smallest code that does the same durable work. */
export async function benchmarkLedger(workplace: Workplace, effort: Effort): Promise<void> {
  const database = (name: string): Record<string, string> => ({
    DATABASE_URL: `sqlite:${workplace.path(`${name}.db`)}`,
  });
  const sides: Sides = [
    { title: 'ledger', loop: 'ledger', environment: database('ledger') },
    { title: 'raw driver', loop: 'raw driver', environment: database('raw driver') },
  ];
  await compare(workplace, sides, effort, BARS.sqlite);
  await checkReference(workplace, sides);
}

/** Makes the same comparison on PostgreSQL. */
export async function benchmarkLedgerOnPostgres(workplace: Workplace, effort: Effort): Promise<void> {
  const { postgres } = effort;
  if ((await postgresVersion(postgres)) === undefined) {
    printLine(`SKIPPED: no PostgreSQL answers at ${postgres}.`);
    return;
  }
  const sides: Sides = [
    { title: 'ledger', loop: 'ledger', environment: await postgresDatabase(workplace, postgres) },
    { title: 'raw pg', loop: 'raw driver', environment: await postgresDatabase(workplace, postgres) },
  ];
  await compare(workplace, sides, effort, BARS.postgres);
  await checkReference(workplace, sides);
}

async function compare(workplace: Workplace, sides: Sides, effort: Effort, bar?: number): Promise<void> {
  const [subject, reference] = sides;
  const loops = [await start(workplace, subject), await start(workplace, reference)] as const;
  const all = new Map<CommandKind, Figures>();
  for (const kind of COMMAND_KINDS) all.set(kind, await measure(loops, kind, effort));
  report(sides, all, effort, bar);
  for (const loop of loops) await loop.stop();
}

function start(workplace: Workplace, { title, loop, environment }: Side): Promise<LoopProcess> {
  return LoopProcess.start(workplace, loop, title, [], environment);
}

async function measure(
  [subject, reference]: readonly [LoopProcess, LoopProcess],
  kind: CommandKind,
  { seconds, rounds }: Effort,
): Promise<Figures> {
  const figures: Figures = [[], []];
  const commands = Math.ceil(seconds * COMMANDS_PER_SECOND);
  // The first round warms up the JIT compiler, and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    const both = [await subject.run({ kind, commands }), await reference.run({ kind, commands })] as const;
    if (round > 0) both.forEach((figure, side) => figures[side]?.push(figure));
  }
  return figures;
}

function report(
  sides: Sides,
  all: ReadonlyMap<CommandKind, Figures>,
  { seconds, rounds }: Effort,
  bar: number | undefined,
): void {
  const commands = number(seconds * COMMANDS_PER_SECOND);
  const header = [`${rounds} × ${commands} commands`, 'commands/s', 'p50 ms', 'p99 ms', 'processor µs/command'];
  const rows = [...all].flatMap(([kind, figures]) =>
    sides.map(({ title }, side) => rowOf(`${kind}: ${title}`, figures[side] ?? [])),
  );
  printTable(header, rows);
  printLine();
  const [subject, reference] = sides.map(({ title }) => title);
  const ratioTitle = `${subject} / ${reference}`;
  for (const [kind, figures] of all) {
    const [ours, theirs] = figures.map((rounds) => rounds.map(({ commandsPerSecond }) => commandsPerSecond));
    printRatio(`commands/s, ${kind}: ${ratioTitle}`, ratioOf(ours ?? [], theirs ?? []), bar);
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

/** Proves that the reference did the same work: both left the same rows, and the service verifies its chain. */
async function checkReference(workplace: Workplace, [subject, reference]: Sides): Promise<void> {
  const [ours, theirs] = [await rowsPerTable(urlOf(subject)), await rowsPerTable(urlOf(reference))];
  const different = Object.keys(ours).filter((table) => ours[table] !== theirs[table]);
  printLine(`\nTables with as many rows of both: ${different.length === 0 ? 'all' : 'not all'}`);
  for (const table of different) printLine(`  ${table}: ${ours[table]} and ${theirs[table]}`);
  const service = await ServerProcess.start(workplace, 'service', 'reference', reference.environment);
  const verdict = await service.send('POST', '/api/v1/provenance/verify');
  printLine(`The service's verification of what the reference wrote: ${JSON.stringify(verdict)}`);
}

function urlOf({ environment }: Side): string {
  return environment['DATABASE_URL'] ?? '';
}
