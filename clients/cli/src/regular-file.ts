import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Flags for opening a file that do not wait for a writer if it is a pipe. */
export const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** Bytes of a file, far more than a configuration, a certificate or the body of a request has. */
const MAX_FILE_BYTES = 64 * 2 ** 20;

/**
 * Returns the text of a file in UTF-8.
 * @throws Error with `syscall` if it cannot be read, is too large, or is no regular file, such as a pipe or a device
 */
export function readRegularFile(path: string): string {
  return readRegularBytes(path).toString('utf8');
}

/** @throws as `readRegularFile` */
export function readRegularBytes(path: string): Buffer {
  const file = openSync(path, OPEN_FLAGS);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw unusable('it is no regular file', 'NO_FILE');
    if (stats.size > MAX_FILE_BYTES) throw unusable(`it has more than ${MAX_FILE_BYTES} bytes`, 'TOO_LARGE');
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

function unusable(message: string, code: string): Error {
  return Object.assign(new Error(message), { syscall: 'open', code });
}
