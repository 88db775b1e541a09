import type { SqlValue } from '../database/sql-connection';

/**
 * `contains`: the JSON list in the column contains the value. `after`: greater than. `among`: equal to one of the whole
 * numbers in the value, a JSON list of one-element lists. `nullOrAmong`: the same of texts, or null. `present`: not
 * null; the value does not count. `refersTo`: the id of a row of the target whose column equals the value.
 */
export type Comparison =
  | 'equals'
  | 'atLeast'
  | 'atMost'
  | 'contains'
  | 'after'
  | 'among'
  | 'nullOrAmong'
  | 'present'
  | 'refersTo';

export interface Condition {
  readonly column: string;
  readonly comparison: Comparison;
  readonly value: SqlValue;
  /** For `refersTo`: the table of the id, and the compared column. */
  readonly target?: { readonly table: string; readonly column: string };
}

export type SortOrder = 'asc' | 'desc';

/** One page of a list in order of creation. */
export interface PageRequest {
  readonly conditions: readonly Condition[];
  readonly limit: number;
  readonly offset: number;
  readonly order: SortOrder;
  /** Sequence after which the page starts, in list order; null for the first page. */
  readonly position: number | null;
  /** Total that an earlier page found; null if it has to be found. */
  readonly total: number | null;
  /** Name of the rows that the total counts, such as those of an agent; absent or null if it counts all rows. */
  readonly totalOf?: string | null;
  /** Aborted when nobody waits for the page any more; reading it then ends. */
  readonly signal?: AbortSignal | undefined;
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
  /** Name of the rows that the total counts because the viewer sees no others; absent or null if it counts all rows. */
  readonly totalOf?: string | null;
  /** True if more rows follow. */
  readonly more: boolean;
}

/** A scan of records in order of creation. */
export interface RecordRange extends Pick<PageRequest, 'conditions' | 'order' | 'position'> {
  /** Most rows read at once. */
  readonly atOnce: number;
}
