import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { TemporaryDatabase } from '../../support/database/temporary-database';
import { ROOT } from '../../support/documents/markdown';
import { startCommand, type StartedProgram } from '../../support/processes/started-program';

/** The way in which the service is run. */
export interface Surroundings {
  readonly name: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Limit of the memory of the process at its peak, in mebibytes. */
  readonly memory: number;
}

export const AS_STARTED: Surroundings = { name: 'npm start', command: startScript(), environment: {}, memory: 700 };
/** The command of the image and its environment, without Docker. */
export const AS_IMAGE: Surroundings = { name: 'the image', ...image(), memory: 512 };

export async function startIn(
  { command: [command = '', ...parameters], environment }: Surroundings,
  { folder, environment: ofDatabase }: TemporaryDatabase,
  variables: Readonly<Record<string, string>>,
): Promise<StartedProgram> {
  // The command names files relative to the folder of the service.
  for (const name of ['dist', 'node_modules', 'package.json']) symlinkSync(join(ROOT, name), join(folder, name));
  mkdirSync(join(folder, 'data'));
  return startCommand(command, parameters, folder, { ...environment, ...ofDatabase, ...variables });
}

/** The peak memory of the process in mebibytes, as the kernel counts it. */
export function highestMemory(program: StartedProgram): number {
  const status = readFileSync(`/proc/${program.process.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024;
}

function startScript(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: { start: string } };
  // The command begins with `exec`, so the shell becomes the service.
  return ['sh', '-c', scripts.start.replace(/ \|\| .*$/, '')];
}

function image(): { command: string[]; environment: Record<string, string> } {
  // The last stage is the image.
  const stage =
    readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
      .split(/^FROM /m)
      .at(-1) ?? '';
  const command = /^CMD (\[.*\])$/m.exec(stage)?.[1] ?? '[]';
  const pairs = [...stage.matchAll(/^ENV (.+)$/gm)].flatMap(([, line = '']) => [
    ...line.matchAll(/(\w+)=(?:"([^"]*)"|(\S+))/g),
  ]);
  const environment = Object.fromEntries(pairs.map(([, name = '', quoted, plain = '']) => [name, quoted ?? plain]));
  return { command: JSON.parse(command) as string[], environment };
}
