import { Logger } from '@nestjs/common';
import { unavailable, type DomainError } from '../../core/errors/domain-error';

/** Why nothing may be written although the database would accept it. Causes are independent of each other. */
export class WriteStops {
  /** The error with which writes are refused; null while they are accepted. Read by every write, so it is kept ready. */
  refusal: DomainError | null = null;
  private readonly messages = new Map<string, string>();

  /** @param message for the callers that are refused. */
  stop(cause: string, message: string): void {
    this.messages.set(cause, message);
    this.keepRefusal();
  }

  lift(cause: string): void {
    this.messages.delete(cause);
    this.keepRefusal();
  }

  private keepRefusal(): void {
    const [message] = this.messages.values();
    this.refusal = message === undefined ? null : unavailable(message);
  }
}

/**
 * As sysexits.h names them: EX_IOERR, and EX_DATAERR. A start whose database contradicts its checkpoint also ends with
 * the latter.
 */
const EXIT_CODE = { storage: 74, contradicted: 65 };

/** Ends the process at once. After a failed sync nobody knows what reached the disk; the next start reads what did. */
export function failStop(reason: string): never {
  return stop(`${reason} The process stops; the next start recovers from what is on disk.`, EXIT_CODE.storage);
}

/** Ends the process when the database is not the one it knows: its memory was filled from another one. */
export function stopContradicted(reason: string): never {
  return stop(
    `${reason} The process stops; the next start checks the database against the kept checkpoint.`,
    EXIT_CODE.contradicted,
  );
}

function stop(line: string, exitCode: number): never {
  new Logger('Ledger').fatal(line);
  process.exit(exitCode);
}
