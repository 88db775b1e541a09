import type { SqlValue } from '../database/sql-connection';

/** How to tell, when COMMIT itself failed, whether it took place: a row it would have left, and what `found` in it must be. */
export interface CommitProof {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
  readonly found: SqlValue;
}
