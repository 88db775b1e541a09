/** Where the chain stands: the head row as read at the start of a batch, then as each entry moves it. */
export interface LedgerPosition {
  readonly sequence: number;
  readonly hash: string;
  readonly timestamp: string;
  readonly lastUlid: string;
  /** Sequence of the last entry that changed what processes keep in memory; 0 when none has. */
  readonly effectSequence: number;
  /** The Merkle tree over the entries, as of the last one that was written to the database: `TreeFrontier`. */
  readonly frontier: string;
  /** Of the database: `SCHEMA_VERSION` of the latest version of the service that has opened it. */
  readonly schemaVersion: number;
}

/** The ledger's time: what its clock shows, but never before the last entry. */
export function ledgerTime(clockTime: number, lastTimestamp: string): string {
  const now = new Date(clockTime).toISOString();
  return now > lastTimestamp ? now : lastTimestamp;
}
