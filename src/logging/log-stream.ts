import { type DestinationStream, destination } from 'pino';
import pretty from 'pino-pretty';
import { GatheredLines } from './gathered-lines';

/** Where log lines go. */
export const LOG_STREAM = Symbol('LOG_STREAM');

/** One for the process, however many applications it runs. */
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
