import type { Comparison, Condition } from '../../ledger/record-page';

/** The conditions for the given filters: how each one's column compares with its value. */
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
