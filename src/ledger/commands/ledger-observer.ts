import type { DomainError } from '../../core/errors/domain-error';

/** A batch that was committed. */
export interface ObservedBatch {
  readonly commands: number;
  /** Milliseconds from the beginning of the transaction to its end. */
  readonly durationMs: number;
  /** Milliseconds of the commit alone, which is mostly the disk sync; null if no command had anything to write. */
  readonly commitDurationMs: number | null;
  /** Errors of callers that were refused by a rule, each with an entry in the batch. */
  readonly refusals: readonly DomainError[];
}

/** Is notified of what the ledger does, for metrics. Must be quick and must not throw. */
export interface LedgerObserver {
  onBatch(batch: ObservedBatch): void;
  /** The database did not accept a batch: its callers were answered with 503. */
  onFailedBatch(): void;
}
