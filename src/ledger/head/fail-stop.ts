import { Logger } from '@nestjs/common';
import { unavailable, type DomainError } from '../../core/errors/domain-error';

/** Why nothing may be written although the database would accept it. Causes are independent of each other. */
export class WriteStops {
  /** The error with which writes are refused; null while they are accepted. Each write looks at it. */
  refusal: DomainError | null = null;
  private readonly refusals = new Map<string, DomainError>();

  /** @param message for the callers that are refused. */
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
 * As sysexits.h names them: EX_IOERR, EX_DATAERR and EX_CONFIG. A start whose database contradicts its checkpoint also
 * ends with the second, and one with a wrong setting with the last.
 */
const EXIT_CODE = { storage: 74, contradicted: 65, configuration: 78 };

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

/** Ends the process when another process has made its settings wrong. @param reason says what would be right */
export function stopMisconfigured(reason: string): never {
  return stop(reason, EXIT_CODE.configuration);
}

function stop(line: string, exitCode: number): never {
  new Logger('Ledger').fatal(line);
  process.exit(exitCode);
}
