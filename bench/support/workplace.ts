import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Something that runs until it is stopped. */
interface Running {
  stop(): Promise<void>;
}

/** A temporary folder for databases and logs, and the processes that use it. */
export class Workplace {
  private folder: string | null = null;
  private readonly running: Running[] = [];
  private readonly last: Running[] = [];

  path(name: string): string {
    this.folder ??= mkdtempSync(join(tmpdir(), 'governance-bench-'));
    return join(this.folder, name);
  }

  /** A file to write to. */
  openLog(name: string): number {
    return openSync(this.path(`${name}.log`), 'a');
  }

  add<Started extends Running>(started: Started): Started {
    this.running.push(started);
    return started;
  }

  /** Something to end when every process has ended, such as a database they use. */
  addLast(started: Running): void {
    this.last.push(started);
  }

  /** Stops every process and removes the folder. */
  async clear(): Promise<void> {
    await Promise.all(this.running.splice(0).map((process) => process.stop()));
    await Promise.all(this.last.splice(0).map((each) => each.stop()));
    if (this.folder !== null) rmSync(this.folder, { recursive: true, force: true });
    this.folder = null;
  }
}
