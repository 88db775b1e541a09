import type { SqlValue } from '../database/sql-connection';

/**
 * `contains`: the JSON list in the column holds the value. `after`: greater than. `among`: one of the whole numbers of the value, a
 * JSON list of lists of one.
 */
export type Comparison = 'equals' | 'atLeast' | 'atMost' | 'contains' | 'after' | 'among';

export interface Condition {
  readonly column: string;
  readonly comparison: Comparison;
  readonly value: SqlValue;
}

export type SortOrder = 'asc' | 'desc';

/** One page of a list in order of creation. */
export interface PageRequest {
  readonly conditions: readonly Condition[];
  readonly limit: number;
  readonly offset: number;
  readonly order: SortOrder;
  /** Sequence after which, in the list's order, the page starts; null: from its beginning. */
  readonly position: number | null;
  /** The total when an earlier page found it; null: to be found. */
  readonly total: number | null;
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
  /** True when rows follow after the last one. */
  readonly more: boolean;
}

/** Records in order of creation that are looked through. */
export interface RecordRange extends Pick<PageRequest, 'conditions' | 'order' | 'position'> {
  /** Rows that are read at once at most. */
  readonly atOnce: number;
}
