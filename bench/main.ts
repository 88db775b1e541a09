import { printHeading, printLine, takeReportedRatios } from './support/report';
import { readOptions } from './options';
import { machine } from './support/machine';
import { writePerformanceTable } from './support/performance-table';
import { PARTS } from './parts';
import { Workplace } from './support/workplace';

const TITLES = Object.values(PARTS).map(({ title }) => title);

/** Runs the requested parts, one after another. The processes that they started are stopped in any case. */
async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const workplace = new Workplace();
  const onInterrupt = (): void => void workplace.clear().finally(() => process.exit(130));
  process.once('SIGINT', onInterrupt).once('SIGTERM', onInterrupt);
  const lines = await machine(options.postgres);
  for (const line of lines) printLine(line);
  try {
    for (const name of options.parts) {
      const part = PARTS[name];
      printHeading(part.title);
      await part.run(workplace, options);
      await workplace.clear();
      if (options.write) writePerformanceTable(part.title, TITLES, lines, takeReportedRatios());
    }
  } finally {
    await workplace.clear();
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
