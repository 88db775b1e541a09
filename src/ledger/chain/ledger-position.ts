/** The end of the chain: the head row as read at the start of a batch, then advanced by each entry. */
export interface LedgerPosition {
  readonly sequence: number;
  readonly hash: string;
  readonly timestamp: string;
  readonly lastUlid: string;
  /** Sequence of the last entry that changed what processes keep in memory; 0 if none has. */
  readonly effectSequence: number;
  /** The Merkle tree over the entries, up to the last one written to the database: `TreeFrontier`. */
  readonly frontier: string;
  /** Schema version of the database: `SCHEMA_VERSION` of the latest service version that has opened it. */
  readonly schemaVersion: number;
}
