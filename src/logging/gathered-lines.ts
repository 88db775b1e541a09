import type { DestinationStream } from 'pino';

/** Every line begins with its level. */
const URGENT = /^\{"level":"(?:warn|error|fatal)"/;

/**
 * Writes the lines of one turn of the event loop together: a request has only one, but a commit answers hundreds, and each
 * of their writes may wait for the disk that the next commit is being synced to. Warnings and errors are written at once,
 * with what was gathered before them.
 */
export class GatheredLines implements DestinationStream {
  private gathered = '';

  constructor(private readonly target: DestinationStream) {}

  write(line: string): void {
    if (this.gathered === '') setImmediate(() => this.flush());
    this.gathered += line;
    if (URGENT.test(line)) this.flush();
  }

  /** To be called when the process ends. */
  flush(): void {
    if (this.gathered === '') return;
    const text = this.gathered;
    this.gathered = '';
    this.target.write(text);
  }
}
