import { parseArgs } from 'node:util';
import { PART_NAMES, type PartName } from './parts';
import type { Effort } from './support/effort';

export interface Options extends Effort {
  readonly parts: readonly PartName[];
  /** True if the figures of the parts replace their earlier ones in docs/performance-figures.txt. */
  readonly write: boolean;
}

const USAGE = `Usage: npm run bench -- [options]

  --only PARTS      parts to measure, separated by commas; all of them unless given: ${PART_NAMES.join(', ')}
  --seconds N       how long one measurement takes; 2 unless given
  --rounds N        measurements of each thing; 5 unless given
  --postgres URL    a PostgreSQL server, on which databases are created and dropped
  --write           writes the figures to docs/performance-figures.txt`;

/** Reads the command line; ends the process with the usage if that is requested, or the command line is invalid. */
export function readOptions(commandLine: readonly string[]): Options {
  try {
    const { values } = parseArgs({
      args: [...commandLine],
      options: {
        only: { type: 'string', default: PART_NAMES.join() },
        seconds: { type: 'string', default: '2' },
        rounds: { type: 'string', default: '5' },
        postgres: { type: 'string', default: 'postgres://postgres@127.0.0.1:5432/postgres' },
        write: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) {
      console.log(USAGE);
      process.exit(0);
    }
    return {
      parts: values.only.split(',').map(partName),
      seconds: positive(values.seconds),
      rounds: Math.ceil(positive(values.rounds)),
      postgres: values.postgres,
      write: values.write,
    };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(64);
  }
}

function partName(text: string): PartName {
  const name = PART_NAMES.find((partName) => partName === text);
  if (name === undefined) throw new Error(`There is no part "${text}".`);
  return name;
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`"${text}" is not a number above 0.`);
  return value;
}
