import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Flags for opening a file that do not wait for a writer if it is a pipe. */
export const OPEN_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** The text of a file in UTF-8. @throws Error with `syscall` if it cannot be read, or is no regular file, such as a pipe or a device */
export function readRegularFile(path: string): string {
  const file = openSync(path, OPEN_FLAGS);
  try {
    if (!fstatSync(file).isFile())
      throw Object.assign(new Error('it is no regular file'), { syscall: 'open', code: 'NO_FILE' });
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}
