import { parseArgs } from 'node:util';
import { type Effort, PART_NAMES, type PartName } from './parts';

export interface Options extends Effort {
  readonly parts: readonly PartName[];
}

const USAGE = `npm run bench -- [--only ${PART_NAMES.join(',')}] [--seconds 5] [--rounds 5]`;

/** Reads the command line; ends the process with a line of usage when it cannot be understood. */
export function readOptions(commandLine: readonly string[]): Options {
  try {
    const { values } = parseArgs({
      args: [...commandLine],
      options: {
        only: { type: 'string', default: PART_NAMES.join() },
        seconds: { type: 'string', default: '5' },
        rounds: { type: 'string', default: '5' },
      },
    });
    return {
      parts: values.only.split(',').map(partName),
      seconds: positive(values.seconds),
      rounds: Math.ceil(positive(values.rounds)),
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
