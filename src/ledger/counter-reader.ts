import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';

/** How many there are, at one moment. */
export interface LedgerCounts {
  readonly entries: number;
  /** By the counter's name; in the order asked for. */
  readonly records: readonly number[];
}

const SELECT_HEAD_SEQUENCE = `SELECT "sequence" FROM "ledger_head" WHERE "id" = 1`;

/** Reads the counters that move with the head: what they cost does not grow with what they count. */
@Injectable()
export class CounterReader {
  constructor(private readonly database: Database) {}

  /** Sequence of the last entry; 0 when there is none. */
  async headSequence(): Promise<number> {
    const [head] = await this.database.points.all<{ sequence: number }>(SELECT_HEAD_SEQUENCE);
    return head?.sequence ?? 0;
  }

  async read(counters: readonly string[]): Promise<LedgerCounts> {
    const names = counters.map((_, index) => `$${index + 1}`).join(', ');
    const rows = await this.database.points.all<{ name: string; value: number }>(
      `SELECT "name", "value" FROM "ledger_counters" WHERE "name" IN (${names}) ` +
        `UNION ALL SELECT '', "sequence" FROM "ledger_head" WHERE "id" = 1`,
      counters,
    );
    const values = new Map(rows.map(({ name, value }) => [name, value]));
    return { entries: values.get('') ?? 0, records: counters.map((name) => values.get(name) ?? 0) };
  }
}
