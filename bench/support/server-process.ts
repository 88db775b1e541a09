import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port';
import { processorSeconds, residentBytes } from './process-figures';
import { ALLOCATOR, API_KEY, SERVICE_FLAGS, serviceSettings } from './settings';
import type { Workplace } from './workplace';

const START_TIME = 20_000;

/** The compiled programs that are measured. */
const PROGRAMS = {
  service: '../../src/main.js',
  'empty pipeline': '../http/empty-pipeline.js',
  'express echo': '../http/express-echo.js',
} as const;

export type ServerName = keyof typeof PROGRAMS;

/** A server in a process of its own. It logs as in production, into a file. */
export class ServerProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly processId: number,
    readonly url: string,
  ) {}

  /**
   * Starts a server. `database` is the name of its file in the workplace; several servers may use one file, one after
   * another. `environment` takes precedence, for example with another database.
   */
  static async start(
    workplace: Workplace,
    name: ServerName,
    database: string,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<ServerProcess> {
    const port = await freePort();
    const log = workplace.openLog(database);
    const flags = name === 'express echo' ? [] : SERVICE_FLAGS;
    const child = spawn(process.execPath, [...flags, join(__dirname, PROGRAMS[name])], {
      // This folder has no .env.
      cwd: workplace.path('.'),
      env: { ...ALLOCATOR, ...serviceSettings(workplace.path(`${database}.db`), port), ...environment },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const { pid } = child;
    if (pid === undefined) throw new Error(`The process of ${name} did not start.`);
    const server = workplace.add(new ServerProcess(child, pid, `http://127.0.0.1:${port}`));
    await server.whenReady(() => readFileSync(workplace.path(`${database}.log`), 'utf8'));
    return server;
  }

  get processorSeconds(): number {
    return processorSeconds(this.processId);
  }

  get residentBytes(): number {
    return residentBytes(this.processId);
  }

  /** Sends a request that must succeed; returns its JSON. */
  async send(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(this.url + path, {
      method,
      headers: { 'X-API-Key': API_KEY, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGTERM');
    await once(this.child, 'exit');
  }

  private async whenReady(log: () => string): Promise<void> {
    const deadline = performance.now() + START_TIME;
    while (!(await this.answers())) {
      if (this.child.exitCode !== null || performance.now() > deadline) {
        throw new Error(`A server did not start:\n${log()}`);
      }
      await delay(50);
    }
  }

  private answers(): Promise<boolean> {
    return fetch(`${this.url}/api/v1/health`).then(
      () => true,
      () => false,
    );
  }
}
