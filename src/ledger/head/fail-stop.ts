import { Logger } from '@nestjs/common';
import { unavailable, type DomainError } from '../../core/errors/domain-error';

/** Reasons why nothing may be written although the database would accept it. Causes are independent of each other. */
export class WriteStops {
  /** Error with which writes are refused; null while they are accepted. Every write reads it. */
  refusal: DomainError | null = null;
  private readonly refusals = new Map<string, DomainError>();

  /** @param message message for the refused callers */
  stop(cause: string, message: string): void {
    this.refusals.set(cause, unavailable(message));
    [this.refusal = null] = this.refusals.values();
  }

  lift(cause: string): void {
    this.refusals.delete(cause);
    [this.refusal = null] = this.refusals.values();
  }
}

/**
 * Exit codes EX_IOERR, EX_DATAERR and EX_CONFIG of sysexits.h. A start whose database contradicts its checkpoint also
 * ends with the second, and a start with a wrong setting with the last.
 */
const EXIT_CODE = { storage: 74, contradicted: 65, configuration: 78 };

/**
 * Ends the process at once. After a failed sync nobody knows which writes reached the disk; the next start reads those
 * that did.
 */
export function failStop(reason: string): never {
  return stop(`${reason} The process stops; the next start recovers from what is on disk.`, EXIT_CODE.storage);
}

/** Ends the process if the database is not the one from which its memory was filled. */
export function stopContradicted(reason: string): never {
  return stop(
    `${reason} The process stops; the next start checks the database against the kept checkpoint.`,
    EXIT_CODE.contradicted,
  );
}

/** Ends the process if another process has made its settings wrong. @param reason expected setting */
export function stopMisconfigured(reason: string): never {
  return stop(reason, EXIT_CODE.configuration);
}

function stop(line: string, exitCode: number): never {
  new Logger('Ledger').fatal(line);
  process.exit(exitCode);
}
