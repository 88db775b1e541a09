import type { DomainError } from '../errors/domain-error';

/** A batch that went through. Times in milliseconds. */
export interface ObservedBatch {
  readonly commands: number;
  /** From the begin of its transaction to its end. */
  readonly duration: number;
  /** Of the commit alone, which is mostly the sync of the disk; null when no command had anything to write. */
  readonly commitDuration: number | null;
  /** What the callers of its commands were refused by rule, with an entry of it. */
  readonly refusals: readonly DomainError[];
}

/** Learns what the ledger does, for whoever measures it. Must be quick and must not throw. */
export interface LedgerObserver {
  onBatch(batch: ObservedBatch): void;
  /** The database did not take a batch: its callers were answered with 503. */
  onFailedBatch(): void;
}
