import type { Database } from '../database/database';
import type { GovernedRow } from '../record-kind';
import type { RecordCodec } from '../records/record-codec';
import { arraysOfOne } from '../records/statements';
import { DataLoader, type Found } from './data-loader';
import type { LargeReads } from './large-reads';

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
      found.set(value, codec.isLarge(row) ? this.largeReads.run(read) : codec.decode(row));
    }
    return found;
  }

  private async readAlone(codec: RecordCodec, column: string, value: string): Promise<GovernedRow | undefined> {
    const [row] = await this.database.points.all(codec.selectWhere([column]), [value]);
    return row === undefined ? undefined : codec.decode(row);
  }
}
