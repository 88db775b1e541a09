import type { Database } from '../database/database';
import { SingleFlight } from '../../core/concurrency/single-flight';
import { TimeSlice } from '../../core/concurrency/time-slice';
import type { GovernedRow } from '../kinds/record-kind';
import type { RecordCodec } from '../records/record-codec';
import { arraysOfOne } from '../records/statements';

/** Rows by key: a small row itself, or the promise of a large one, for which the others do not wait. */
type RowsByKey = ReadonlyMap<string, GovernedRow | undefined | Promise<GovernedRow | undefined>>;

/**
 * Reads single records by a unique column. A read that finds nothing under way is sent at once; reads that arrive
 * meanwhile share the next statement, which costs about as much for sixty rows as for one. Each statement starts after
 * the calls that it serves, so no result is stale.
 */
export class PointReader {
  /** Reads under way, by table and column. */
  private readonly reads = new Map<string, SingleFlight<string, RowsByKey>>();

  constructor(private readonly database: Pick<Database, 'points' | 'readAlone'>) {}

  async find(codec: RecordCodec, column: string, value: string): Promise<GovernedRow | undefined> {
    const name = `${codec.table} ${column}`;
    const reads = this.reads.get(name) ?? new SingleFlight(({ wishes }) => this.readAmong(codec, column, wishes));
    this.reads.set(name, reads);
    const row = (await reads.call({ wishes: [value] })).get(value);
    // Many callers may share a large row, and each makes a response of it: one in each iteration of the event loop.
    if (row instanceof Promise) await new TimeSlice().next();
    return row;
  }

  /** Reads small rows in one statement; each large row is the promise of its own read. */
  private async readAmong(codec: RecordCodec, column: string, keys: ReadonlySet<string>): Promise<RowsByKey> {
    const rows = new Map<string, GovernedRow | undefined | Promise<GovernedRow | undefined>>();
    const values = [...keys];
    const [only = ''] = values;
    if (values.length === 1) {
      const [row] = await this.database.points.all(codec.selectWhere([column]), [only]);
      const decoded = row === undefined ? undefined : codec.decode(row);
      return rows.set(only, row !== undefined && codec.isLarge(row) ? Promise.resolve(decoded) : decoded);
    }
    for (const row of await this.database.points.all(codec.selectSmallAmong([column]), [arraysOfOne(values)])) {
      const value = String(row[column]);
      const read = (): Promise<GovernedRow | undefined> => this.readAlone(codec, column, value);
      rows.set(value, codec.isLarge(row) ? this.database.readAlone(read) : codec.decode(row));
    }
    return rows;
  }

  private async readAlone(codec: RecordCodec, column: string, value: string): Promise<GovernedRow | undefined> {
    const [row] = await this.database.points.all(codec.selectWhere([column]), [value]);
    return row === undefined ? undefined : codec.decode(row);
  }
}
