import { type DestinationStream, destination } from 'pino';
import pretty from 'pino-pretty';

/** Where log lines go. To be overridden in tests. */
export const LOG_STREAM = Symbol('LOG_STREAM');

/** Standard output: JSON for machines, readable lines on a terminal. */
export function standardOutput(): DestinationStream {
  if (!process.stdout.isTTY) return destination(process.stdout.fd);
  return pretty({ destination: process.stdout.fd, sync: true, translateTime: 'SYS:HH:MM:ss.l' });
}
