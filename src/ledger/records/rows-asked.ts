import type { SqlValue } from '../database/sql-connection';
import type { AnyRecordKind } from '../record-kind';

/** Rows that a statement finds for a key: it takes a list of keys, each behind its place, which its rows have as `place`. */
export interface RowsAsked {
  /** Of the statement. */
  readonly name: string;
  readonly sql: string;
  readonly key: readonly SqlValue[];
  /** The rows that make a difference have these values, or are removed. */
  readonly dependsOn: readonly { readonly kind: AnyRecordKind; readonly values: Readonly<Record<string, SqlValue>> }[];
}
