import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postgresSettings } from '../../../src/program/testing/test-api-key';
import { API_KEY } from '../application/api-key';
import { keepSecrets, watch } from '../application/secret-watch';
import { type Answer, send, type Sent } from '../application/send';
import { temporaryDatabase } from '../database/temporary-database';

/** The built program, running in a separate process. */
export interface StartedProgram {
  /** Such as `http://127.0.0.1:41235`. */
  readonly url: string;
  readonly key: string;
  readonly process: ChildProcess;
  /** Its output so far. */
  printed(): string;
  send(method: string, path: string, sent?: Sent): Promise<Answer>;
  /** Ends it with a signal and returns its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** A program that ended before it listened. */
export class ProgramEnded extends Error {
  constructor(
    /** The exit code; null if a signal ended the program. */
    readonly exitCode: number | null,
    readonly printed: string,
  ) {
    super(`The program ended before it listened: ${printed}`);
  }
}

/** Starts a built `main.js` on a free port, with a new database unless one is named, and waits until it listens. */
export async function startProgram(
  main: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<StartedProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'governance-program-'));
  const database = 'DATABASE_URL' in environment ? null : await temporaryDatabase();
  const variables = { ...database?.environment, ...environment };
  const tidyUp = async (): Promise<void> => {
    rmSync(folder, { recursive: true, force: true });
    await database?.remove();
  };
  try {
    const started = await startCommand(process.execPath, [main], folder, variables);
    const stop: StartedProgram['stop'] = async (signal) => {
      try {
        return await started.stop(signal);
      } finally {
        await tidyUp();
      }
    };
    return { ...started, stop };
  } catch (error) {
    await tidyUp();
    throw error;
  }
}

/** Runs a command that starts the service, in the given folder, and waits until it listens. */
export async function startCommand(
  command: string,
  parameters: readonly string[],
  folder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<StartedProgram> {
  const usual = { PATH: process.env['PATH'], PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'warn', API_KEY };
  const variables = { ...usual, ...postgresSettings(environment), ...environment };
  keepSecrets(variables);
  const program = spawn(command, parameters, {
    cwd: folder,
    env: variables,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(program, 'close');
  let printed = '';
  void ended.then(() => watch('printed', printed));
  const url = await new Promise<string>((resolve, reject) => {
    const look = (chunk: string): void => {
      printed += chunk;
      const address = /^ *API {2,}(http\S+)\/api\/v1$/m.exec(printed)?.[1];
      if (address !== undefined) resolve(address);
    };
    program.stdout.setEncoding('utf8').on('data', look);
    program.stderr.setEncoding('utf8').on('data', look);
    void ended.then(([exitCode]) => reject(new ProgramEnded(exitCode as number | null, printed)));
  });
  return {
    url,
    key: API_KEY,
    process: program,
    printed: () => printed,
    send: (method, path, sent) => send({ url }, method, path, sent),
    stop: async (signal = 'SIGTERM') => {
      program.kill(signal);
      const [exitCode] = (await ended) as [number | null];
      return exitCode;
    },
  };
}
