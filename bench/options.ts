import { parseArgs } from 'node:util';
import { PART_NAMES, type PartName } from './parts';
import type { Effort } from './support/effort';

export interface Options extends Effort {
  readonly parts: readonly PartName[];
  /** Whether the figures of its parts are written to docs/performance-figures.txt, in place of their earlier ones. */
  readonly write: boolean;
}

const USAGE = `npm run bench -- [--only ${PART_NAMES.join(',')}] [--seconds 2] [--rounds 5] [--postgres URL] [--write]`;

/** Reads the command line; ends the process with a line of usage when it cannot be understood. */
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
      },
    });
    return {
      parts: values.only.split(',').map(partName),
      seconds: positive(values.seconds),
      rounds: Math.ceil(positive(values.rounds)),
      postgres: values.postgres,
      write: values.write,
    };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(64);
  }
}

function partName(text: string): PartName {
  const name = PART_NAMES.find((known) => known === text);
  if (name === undefined) throw new Error(`There is no part "${text}".`);
  return name;
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`"${text}" is not a number above 0.`);
  return value;
}
