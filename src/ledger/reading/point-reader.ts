import type { Database } from '../database/database';
import type { GovernedRow } from '../record-kind';
import type { RecordCodec } from '../records/record-codec';
import { arraysOfOne } from '../records/statements';
import { DataLoader, type Found } from './data-loader';
import type { LargeReads } from './large-reads';

/** Bytes of free-form content that one statement reads without knowing how much there is. */
const READ_TOGETHER = 8 * 1024 * 1024;

/** Reads single records by a unique column. */
export class PointReader {
  /** By codec, then by column. */
  private readonly loaders = new Map<RecordCodec, Map<string, DataLoader<GovernedRow>>>();

  constructor(
    private readonly database: Database,
    private readonly largeReads: LargeReads,
  ) {}

  find(codec: RecordCodec, column: string, value: string): Promise<GovernedRow | undefined> {
    const ofCodec = this.loaders.get(codec) ?? new Map<string, DataLoader<GovernedRow>>();
    this.loaders.set(codec, ofCodec);
    const loader = ofCodec.get(column) ?? new DataLoader((values) => this.readAmong(codec, column, values));
    ofCodec.set(column, loader);
    return loader.find(value);
  }

  /**
   * Small rows in one statement; each large one is the promise of its own read. Many of those in one result would not
   * fit in memory, and small rows would wait for them.
   */
  private async readAmong(
    codec: RecordCodec,
    column: string,
    values: readonly string[],
  ): Promise<ReadonlyMap<string, Found<GovernedRow>>> {
    const found = new Map<string, Found<GovernedRow>>();
    const [only = ''] = values;
    if (values.length === 1) return found.set(only, await this.readAlone(codec, column, only));
    const { sql, isSized } = codec.selectOnlySmallAmong([column]);
    const share = Math.floor(READ_TOGETHER / values.length);
    const among = arraysOfOne(values);
    const rows = await this.database.points.all(sql, isSized ? [among, share] : [among]);
    for (const row of rows) found.set(String(row[column]), codec.decode(row));
    if (!isSized) return found;
    const others = values.filter((value) => !found.has(value));
    if (others.length === 0) return found;
    // What was found does not wait for it.
    const existing = this.existing(codec, column, others);
    for (const value of others)
      found.set(
        value,
        existing.then((all) => (all.has(value) ? this.readLarge(codec, column, value) : undefined)),
      );
    return found;
  }

  private async existing(codec: RecordCodec, column: string, values: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.database.points.all(codec.selectValues(column), [arraysOfOne(values)]);
    return new Set(rows.map((row) => String(row[column])));
  }

  /** A method of its own: a function that is written among the others' results would keep them while it waits. */
  private readLarge(codec: RecordCodec, column: string, value: string): Promise<GovernedRow | undefined> {
    return this.largeReads.run(() => this.readAlone(codec, column, value));
  }

  private async readAlone(codec: RecordCodec, column: string, value: string): Promise<GovernedRow | undefined> {
    const [row] = await this.database.points.all(codec.selectWhere([column]), [value]);
    return row === undefined ? undefined : codec.decode(row);
  }
}
