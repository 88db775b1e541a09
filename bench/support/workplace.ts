import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Something that runs until it is stopped. */
interface StoppableProcess {
  stop(): Promise<void>;
}

/** A temporary folder for databases and logs, and the processes that use it. */
export class Workplace {
  private folder: string | null = null;
  private readonly processes: StoppableProcess[] = [];
  private readonly last: StoppableProcess[] = [];

  path(name: string): string {
    this.folder ??= mkdtempSync(join(tmpdir(), 'governance-bench-'));
    return join(this.folder, name);
  }

  /** Opens the log file of that name; returns its descriptor. */
  openLog(name: string): number {
    return openSync(this.path(`${name}.log`), 'a');
  }

  add<Process extends StoppableProcess>(process: Process): Process {
    this.processes.push(process);
    return process;
  }

  /** Adds something that is stopped after all processes have ended, such as the database that they use. */
  addLast(process: StoppableProcess): void {
    this.last.push(process);
  }

  /** Stops every process and removes the folder. */
  async clear(): Promise<void> {
    await Promise.all(this.processes.splice(0).map((process) => process.stop()));
    await Promise.all(this.last.splice(0).map((member) => member.stop()));
    if (this.folder !== null) rmSync(this.folder, { recursive: true, force: true });
    this.folder = null;
  }
}
