import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceSettings } from '../support/settings';
import type { Workplace } from '../support/workplace';
import type { LoopFigures, LoopOrder } from './command-kind';

const PROGRAMS = { ledger: './service-loop.js', 'raw driver': './raw-loop.js' } as const;

export type LoopName = keyof typeof PROGRAMS;

/** A loop of commands in a process of its own, on a database of its own. */
export class LoopProcess {
  private constructor(
    private readonly child: ChildProcess,
    private readonly log: () => string,
  ) {}

  static async start(
    workplace: Workplace,
    name: LoopName,
    database: string,
    programArguments: readonly string[] = [],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<LoopProcess> {
    const log = workplace.openLog(database);
    const child = fork(join(__dirname, PROGRAMS[name]), programArguments, {
      cwd: workplace.path('.'),
      env: { ...serviceSettings(workplace.path(`${database}.db`)), ...environment },
      stdio: ['ignore', log, log, 'ipc'],
    });
    closeSync(log);
    const readLog = (): string => readFileSync(workplace.path(`${database}.log`), 'utf8');
    const loop = workplace.add(new LoopProcess(child, readLog));
    await loop.message();
    return loop;
  }

  async run(order: LoopOrder): Promise<LoopFigures> {
    this.child.send(order);
    return (await this.message()) as LoopFigures;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGTERM');
    await once(this.child, 'exit');
  }

  private async message(): Promise<unknown> {
    const controller = new AbortController();
    const exit = once(this.child, 'exit', { signal: controller.signal }).then(
      () => Promise.reject(new Error(`A loop ended:\n${this.log()}`)),
      () => undefined,
    );
    const [message] = (await Promise.race([once(this.child, 'message'), exit])) as [unknown];
    controller.abort();
    return message;
  }
}
