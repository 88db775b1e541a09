import { WholeRequest } from './dto-shape';
import { parseTimestampOrDate } from './timestamp';

/** The query's `from` must not be later than its `to`. */
export function OrderedPeriod(): ClassDecorator {
  return WholeRequest(({ from, to }) => {
    const [start, end] = [readTime(from), readTime(to)];
    const isOrdered = start === undefined || end === undefined || start <= end;
    return isOrdered ? [] : [{ field: 'query.from', message: 'must not be later than to' }];
  });
}

/** A value that is no time is its own field's fault. */
function readTime(value: unknown): string | undefined {
  return typeof value === 'string' ? parseTimestampOrDate(value) : undefined;
}
