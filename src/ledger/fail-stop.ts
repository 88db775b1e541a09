import { Logger } from '@nestjs/common';

/** EX_IOERR of sysexits.h. */
const EXIT_CODE = 74;

/**
 * Ends the process at once. After a failed sync nobody knows what reached the disk: the only honest state is the one the
 * next start finds there.
 */
export function failStop(reason: string): never {
  new Logger('Ledger').fatal(`${reason} The process stops; the next start recovers from what is on disk.`);
  process.exit(EXIT_CODE);
}
