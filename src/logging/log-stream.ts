import { type DestinationStream, destination } from 'pino';
import pretty from 'pino-pretty';

/** Where log lines go. */
export const LOG_STREAM = Symbol('LOG_STREAM');

/** One per process, however many applications it runs. */
let lines: GatheredLines | null = null;

/** Standard output: JSON for machines, readable lines on a terminal. */
export function standardOutput(): DestinationStream {
  if (process.stdout.isTTY) {
    return pretty({ destination: process.stdout.fd, sync: true, translateTime: 'SYS:HH:MM:ss.l' });
  }
  lines ??= gatheredOutput();
  return lines;
}

function gatheredOutput(): GatheredLines {
  const gathered = new GatheredLines(destination(process.stdout.fd));
  process.on('exit', () => gathered.flush());
  return gathered;
}

/** Every line begins with its level. */
const URGENT = /^\{"level":"(?:warn|error|fatal)"/;

/**
 * Writes the lines of one turn of the event loop together: a request has only one, but a commit answers hundreds, and
 * each write may have to wait for the disk that is syncing the next commit. Warnings and errors are written at once,
 * after the lines buffered before them.
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
