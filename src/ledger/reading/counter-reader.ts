import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { runRowQueries } from '../records/row-query';
import { arraysOfOne } from '../records/statements';
import { type StoredSum, sumQuery, type SumKey } from '../records/sum-key';

/** Totals from one snapshot. */
export interface LedgerCounts {
  readonly entries: number;
  /** The numbers of records, in the order of the counters. */
  readonly records: readonly number[];
}

/**
 * Reads sums, and the counters that are updated together with the head. The cost does not grow with the counted rows.
 */
@Injectable()
export class CounterReader {
  private readonly selectCounts: string;
  /** @internal */
  constructor(private readonly database: Database) {
    const { dialect } = database;
    const name = dialect.jsonAt(0, { name: 'name', type: 'text' });
    this.selectCounts =
      `SELECT "name", "value" FROM "ledger_counters" WHERE "name" IN (SELECT ${name} FROM ${dialect.jsonElements('$1')}) ` +
      `UNION ALL SELECT '', "sequence" FROM "ledger_head" WHERE "id" = 1`;
  }

  /** Sequence of the last entry; 0 when there is none. */
  async headSequence(): Promise<number> {
    return (await this.read([])).entries;
  }

  async read(counters: readonly string[]): Promise<LedgerCounts> {
    const rows = await this.database.points.all<{ name: string; value: number }>(this.selectCounts, [
      arraysOfOne(counters),
    ]);
    const values = new Map(rows.map(({ name, value }) => [name, value]));
    const countOf = (name: string): number => values.get(name) ?? 0;
    return { entries: countOf(''), records: counters.map(countOf) };
  }

  /** @internal Returns the values of sums, in this order; undefined for a sum that is not stored yet. */
  async sums(keys: readonly SumKey[]): Promise<readonly (string | undefined)[]> {
    const { points, dialect } = this.database;
    const queries = keys.map((key) => sumQuery(dialect, key));
    return (await runRowQueries<StoredSum>(points, queries)).map(([stored]) => stored?.value);
  }
}
