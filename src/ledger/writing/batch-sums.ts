import type { SqlConnection, SqlStatement } from '../database/sql-connection';
import { type SumKey, sumName } from '../records/sum-key';

/** A sum with its value. */
export interface KeptSum extends SumKey {
  readonly value: string;
}

/** The sums that the commands of a batch have read or changed: each command sees what those before it have. */
export class BatchSums {
  private readonly known = new Map<string, string | undefined>();
  private readonly changed = new Map<string, KeptSum>();

  constructor(
    private readonly connection: SqlConnection,
    private readonly select: string,
  ) {}

  get(key: SumKey): string | undefined {
    return this.known.get(sumName(key));
  }

  /** Reads those that are not known yet, in one statement. */
  async read(keys: readonly SumKey[]): Promise<void> {
    const missing = new Map(keys.map((key) => [sumName(key), key]));
    for (const name of missing.keys()) if (this.known.has(name)) missing.delete(name);
    if (missing.size === 0) return;
    const asked = JSON.stringify(Array.from(missing.values(), ({ sum, window, key }) => [sum, window, key]));
    for (const name of missing.keys()) this.known.set(name, undefined);
    for (const { value, ...key } of await this.connection.all<KeptSum>(this.select, [asked]))
      this.known.set(sumName(key), value);
  }

  /** What a command that has returned has changed. */
  keep(sums: Iterable<KeptSum>): void {
    for (const sum of sums) {
      this.known.set(sumName(sum), sum.value);
      this.changed.set(sumName(sum), sum);
    }
  }

  /** Writes what was changed. @param sql {@link keepSums} */
  statements(sql: string): SqlStatement[] {
    if (this.changed.size === 0) return [];
    const rows = Array.from(this.changed.values(), ({ sum, window, key, value }) => [sum, window, key, value]);
    return [{ sql, parameters: [JSON.stringify(rows)] }];
  }
}
