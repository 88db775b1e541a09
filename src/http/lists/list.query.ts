import type { Comparison, Condition, SortOrder } from '../../ledger/kinds/record-page';
import { QueryInteger, QueryOneOf, QueryText } from '../validation/query-fields';

const MAX_ROWS = 1000;
const MAX_OFFSET = 2 ** 31 - 1;
/** Exceeds the length of all cursors of ours. */
const MAX_CURSOR_CHARACTERS = 65_536;

/** The parameters of every list; a list with filters extends it. */
export class ListQuery {
  @QueryInteger({
    min: 1,
    max: MAX_ROWS,
    description:
      'Maximum number of rows; fewer are returned if they are large. Default: 50, in audit and provenance 100.',
  })
  limit?: number;

  @QueryInteger({ min: 0, max: MAX_OFFSET, description: 'Rows to skip.' })
  offset?: number;

  @QueryOneOf(['asc', 'desc'], {
    enumName: 'SortOrder',
    description: 'Oldest or newest first, by creation. Default: `asc`, in the audit trail `desc`.',
  })
  order?: SortOrder;

  @QueryText({
    max: MAX_CURSOR_CHARACTERS,
    description:
      '`nextCursor` of the previous page. It includes the filters and the order, so only `limit` can be combined with it.',
  })
  cursor?: string;
}

/** The parameters of a list without a cursor, whose contents change with records of other kinds. */
export class PageQuery {
  @QueryInteger({ min: 1, max: MAX_ROWS, description: 'Maximum number of rows. Default: 50.' })
  readonly limit?: number;

  @QueryInteger({ min: 0, max: MAX_OFFSET, description: 'Rows to skip.' })
  readonly offset?: number;
}

/** Returns the conditions of filters that are named as the columns they must equal. */
export function equalityConditions(filters: object): Condition[] {
  return Object.entries(filters as Readonly<Record<string, string | undefined>>).flatMap(([column, value]) =>
    value === undefined ? [] : { column, comparison: 'equals', value },
  );
}

/** Returns the conditions of filters, with the comparison for each column. */
export function conditionsOf<Filtered extends object>(
  filters: Filtered,
  columns: Readonly<Record<keyof Filtered & string, readonly [column: string, comparison: Comparison]>>,
): Condition[] {
  const names = Object.keys(columns) as (keyof Filtered & string)[];
  return names.flatMap((name) => {
    const value = filters[name] as string | number | undefined;
    const [column, comparison] = columns[name];
    return value === undefined ? [] : [{ column, comparison, value }];
  });
}
