import type { Database } from '../../database/database';
import { quoted } from '../../database/dialect';
import { type PageSource, columnOf, isTimeBound, Parameters, placeOfTimeSql, WhereClause } from './where-clause';
import type { Condition } from '../record-page';

/** The rows of a list that were created up to a sequence. */
export interface CountedList {
  readonly source: PageSource;
  readonly conditions: readonly Condition[];
  readonly upTo: number;
  readonly leaving: AbortSignal | undefined;
}

interface Extent {
  readonly first: number;
  readonly last: number;
}

interface FoundPlace {
  readonly place: number | null;
}

/**
 * The total of a list, counted in ranges of sequences: no statement takes longer because the table is larger, and other
 * requests are served in between. Rows created meanwhile are not counted; changes to rows already counted are not seen.
 */
export async function totalInChunks(
  { lists, dialect }: Pick<Database, 'lists' | 'dialect'>,
  list: CountedList,
  countedAtOnce: number,
): Promise<number> {
  const { source } = list;
  // Given a second bound on the same column, the database might use that one for its index lookup.
  const conditions = list.conditions.filter((c) => !isTimeBound(source, c) && !isPlace(source, c));
  const { first, last } = await extentOf(lists, list);
  let total = 0;
  for (let after = first - 1; after < last; after += countedAtOnce) {
    list.leaving?.throwIfAborted();
    const parameters = new Parameters();
    const rows = new WhereClause(source, conditions, dialect, parameters);
    const [from, to] = [parameters.add(after), parameters.add(Math.min(after + countedAtOnce, last))];
    const sql = `SELECT count(*) AS "count" ${rows.sql(`${rows.order} > ${from} AND ${rows.order} <= ${to}`)}`;
    const [chunk] = await lists.all<{ count: number }>(sql, parameters.values);
    total += Number(chunk?.count);
  }
  return total;
}

/** The range of sequences that contains all rows of the list: times translate to places in its order. */
async function extentOf(lists: Database['lists'], { source, conditions, upTo }: CountedList): Promise<Extent> {
  // An altered head may claim anything: counting ends with the table.
  const lastSql = `SELECT max(${columnOf(source.table, source.orderColumn)}) AS "place" FROM ${quoted(source.table)}`;
  const [end] = await lists.all<FoundPlace>(lastSql);
  const extent = { first: 1, last: Math.min(upTo, end?.place ?? 0) };
  for (const condition of conditions) {
    if (isPlace(source, condition)) extent.first = Math.max(extent.first, Number(condition.value) + 1);
    if (!isTimeBound(source, condition)) continue;
    const parameters = new Parameters();
    const sql = `SELECT (${placeOfTimeSql(source, condition, parameters)}) AS "place"`;
    const [found] = await lists.all<FoundPlace>(sql, parameters.values);
    const place = found?.place ?? null;
    if (place === null) return { first: 1, last: 0 };
    if (condition.comparison === 'atLeast') extent.first = Math.max(extent.first, place);
    else extent.last = Math.min(extent.last, place);
  }
  return extent;
}

function isPlace({ orderColumn }: PageSource, { column, comparison }: Condition): boolean {
  return column === orderColumn && comparison === 'after';
}
