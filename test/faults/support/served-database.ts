import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SqlConnection } from '../../../src/ledger/database/sql-connection';
import { SqliteConnection } from '../../../src/ledger/database/sqlite/sqlite-connection';
import { ROOT } from '../../support/documents/markdown';
import { ProgramEnded, type StartedProgram, startProgram } from '../../support/processes/started-program';
import type { History } from './history';
import { ledgerFaults } from './ledger-faults';

export const MAIN = join(ROOT, 'dist', 'main.js');

interface Surroundings {
  readonly environment?: Readonly<Record<string, string>>;
  /** Opens the database for a check of the ledger; by default SQLite's file. */
  readonly connect?: () => Promise<SqlConnection>;
  /** Removes what was created for it. */
  readonly tidyUp?: () => Promise<void>;
}

/** A database (a SQLite file unless the environment says otherwise) and the built program that serves it. */
export class ServedDatabase {
  private current: StartedProgram | null = null;

  constructor(
    readonly path: string,
    private readonly surroundings: Surroundings = {},
  ) {}

  /** The path of its file. */
  get folder(): string {
    return dirname(this.path);
  }

  get program(): StartedProgram {
    if (this.current === null) throw new Error('The program is not running.');
    return this.current;
  }

  get url(): string {
    return this.program.url;
  }

  async start(environment: Readonly<Record<string, string>> = {}): Promise<StartedProgram> {
    const quiet = { DATABASE_URL: `sqlite:${this.path}`, RATE_LIMIT: '100000000', LOG_LEVEL: 'fatal' };
    this.current = await startProgram(MAIN, { ...quiet, ...this.surroundings.environment, ...environment });
    return this.current;
  }

  /** Ends the program, if it runs, with a signal and returns its exit code. */
  async stop(signal?: NodeJS.Signals): Promise<number | null> {
    const program = this.current;
    this.current = null;
    return program === null ? null : program.stop(signal);
  }

  /** Waits until the program ends by itself and returns its exit code; null if a signal ended it. */
  async ended(): Promise<number | null> {
    const { process } = this.program;
    if (process.exitCode === null && process.signalCode === null) await once(process, 'exit');
    return this.stop();
  }

  /** Starts the program, which may refuse to: returns how it ended, or null if it runs. */
  async startOrEnd(environment: Readonly<Record<string, string>> = {}): Promise<ProgramEnded | null> {
    try {
      await this.start(environment);
      return null;
    } catch (error) {
      if (error instanceof ProgramEnded) return error;
      throw error;
    }
  }

  /** The faults of what the running program serves, given what its clients have seen. */
  async faults(history: History): Promise<string[]> {
    const { connect = () => SqliteConnection.open(this.path, 'read') } = this.surroundings;
    const database = await connect();
    try {
      return await ledgerFaults(this.url, database, history);
    } finally {
      await database.close();
    }
  }

  /** Removes its file and everything written next to it. */
  empty(): void {
    for (const file of readdirSync(this.folder)) rmSync(join(this.folder, file));
  }

  /** Ends the program, if it runs, and removes what was created for it. */
  async remove(): Promise<void> {
    await this.stop('SIGKILL');
    await this.surroundings.tidyUp?.();
  }
}
