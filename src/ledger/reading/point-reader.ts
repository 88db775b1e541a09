import type { Database } from '../database/database';
import type { GovernedRow } from '../record-kind';
import type { RecordCodec } from '../records/record-codec';
import { arraysOfOne } from '../records/statements';

/** Reads single records by a unique column. */
export class PointReader {
  /** By table and column. */
  private readonly loaders = new Map<string, DataLoader<GovernedRow>>();

  constructor(private readonly database: Database) {}

  find(codec: RecordCodec, column: string, value: string): Promise<GovernedRow | undefined> {
    const name = `${codec.table} ${column}`;
    const loader = this.loaders.get(name) ?? new DataLoader((values) => this.readAmong(codec, column, values));
    this.loaders.set(name, loader);
    return loader.find(value);
  }

  /** Small rows in one statement; each large one is the promise of its own read, for which the others do not wait. */
  private async readAmong(
    codec: RecordCodec,
    column: string,
    values: readonly string[],
  ): Promise<ReadonlyMap<string, Found<GovernedRow>>> {
    const found = new Map<string, Found<GovernedRow>>();
    const [only = ''] = values;
    if (values.length === 1) return found.set(only, await this.readAlone(codec, column, only));
    for (const row of await this.database.points.all(codec.selectSmallAmong([column]), [arraysOfOne(values)])) {
      const value = String(row[column]);
      const read = (): Promise<GovernedRow | undefined> => this.readAlone(codec, column, value);
      found.set(value, codec.isLarge(row) ? this.database.readAlone(read) : codec.decode(row));
    }
    return found;
  }

  private async readAlone(codec: RecordCodec, column: string, value: string): Promise<GovernedRow | undefined> {
    const [row] = await this.database.points.all(codec.selectWhere([column]), [value]);
    return row === undefined ? undefined : codec.decode(row);
  }
}

/** A row, or what will be one: a read may leave some rows to later statements, for which the next group does not wait. */
type Found<Row> = Row | undefined | Promise<Row | undefined>;

/** Reads the rows that have one of the values, in one statement. */
type ReadAmong<Row> = (values: readonly string[]) => Promise<ReadonlyMap<string, Found<Row>>>;

interface Waiting<Row> {
  readonly value: string;
  readonly resolve: (row: Found<Row>) => void;
  readonly reject: (error: unknown) => void;
}

/** Most values per statement: enough to share the round trip, few enough to keep the statement short. */
const MOST_VALUES = 256;

/**
 * Reads rows by a unique value. A read that finds nothing under way is sent at once; those that arrive meanwhile share
 * the next statement, which costs about as much for sixty rows as for one. Each read starts after it was asked for, so
 * it is never stale.
 */
export class DataLoader<Row> {
  private waiting: Waiting<Row>[] = [];
  private isReading = false;

  constructor(private readonly readAmong: ReadAmong<Row>) {}

  find(value: string): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ value, resolve, reject });
      if (!this.isReading) void this.readWaiting();
    });
  }

  private async readWaiting(): Promise<void> {
    this.isReading = true;
    while (this.waiting.length > 0) await this.readTogether(this.waiting.splice(0, MOST_VALUES));
    this.isReading = false;
  }

  private async readTogether(group: readonly Waiting<Row>[]): Promise<void> {
    try {
      const rows = await this.readAmong(group.map(({ value }) => value));
      for (const { value, resolve } of group) resolve(rows.get(value));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
