/** A row, or what will be one: a read may leave some rows to later statements, for which the next group does not wait. */
export type Found<Row> = Row | undefined | Promise<Row | undefined>;

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
