import type { Database } from '../database/database';
import { SingleFlight } from '../../core/concurrency/single-flight';
import type { GovernedRow } from '../record-kind';
import type { RecordCodec } from '../records/record-codec';
import { arraysOfOne } from '../records/statements';

/** By value: a row, or what will be one, for which the others do not wait. */
type RowsByKey = ReadonlyMap<string, GovernedRow | undefined | Promise<GovernedRow | undefined>>;

/**
 * Reads single records by a unique column. A read that finds nothing under way is sent at once; those that arrive
 * meanwhile share the next statement, which costs about as much for sixty rows as for one. Each read starts after it was
 * asked for, so it is never stale.
 */
export class PointReader {
  /** By table and column. */
  private readonly reads = new Map<string, SingleFlight<string, RowsByKey>>();

  constructor(private readonly database: Pick<Database, 'points' | 'readAlone'>) {}

  async find(codec: RecordCodec, column: string, value: string): Promise<GovernedRow | undefined> {
    const name = `${codec.table} ${column}`;
    const reads = this.reads.get(name) ?? new SingleFlight(({ wishes }) => this.readAmong(codec, column, wishes));
    this.reads.set(name, reads);
    return (await reads.call({ wishes: [value] })).get(value);
  }

  /** Small rows in one statement; each large one is the promise of its own read. */
  private async readAmong(codec: RecordCodec, column: string, keys: ReadonlySet<string>): Promise<RowsByKey> {
    const rows = new Map<string, GovernedRow | undefined | Promise<GovernedRow | undefined>>();
    const values = [...keys];
    const [only = ''] = values;
    if (values.length === 1) return rows.set(only, await this.readAlone(codec, column, only));
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
