import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from './create-test-app';
import { type Answer, send, type Sent } from './send';

/** The built program, running in a process of its own. */
export interface StartedProgram {
  /** Such as `http://127.0.0.1:41235`. */
  readonly url: string;
  readonly key: string;
  send(method: string, path: string, sent?: Sent): Promise<Answer>;
  /** Ends it with SIGTERM and answers its exit code. */
  stop(): Promise<number | null>;
}

/** Starts a built `main.js` on a free port with a database of its own, and waits until it listens. */
export async function startProgram(
  main: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<StartedProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'governance-program-'));
  const program = spawn(process.execPath, [main], {
    cwd: folder,
    env: { PATH: process.env['PATH'], PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'warn', API_KEY, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(program, 'exit');
  let printed = '';
  const url = await new Promise<string>((resolve, reject) => {
    const look = (chunk: Buffer): void => {
      printed += chunk.toString();
      const found = /^ *API {2,}(http\S+)\/api\/v1$/m.exec(printed)?.[1];
      if (found !== undefined) resolve(found);
    };
    program.stdout.on('data', look);
    program.stderr.on('data', look);
    void ended.then(() => reject(new Error(`The program ended before it listened: ${printed}`)));
  });
  return {
    url,
    key: API_KEY,
    send: (method, path, sent) => send({ url }, method, path, sent),
    stop: async () => {
      program.kill('SIGTERM');
      const [exitCode] = (await ended) as [number | null];
      rmSync(folder, { recursive: true });
      return exitCode;
    },
  };
}
