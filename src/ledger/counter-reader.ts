import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { PointReader } from './point-reader';
import { arraysOfOne } from './statements';

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
  private readonly selectCounts: string;
  /** By the list of counters as JSON. Who asks while a statement is under way, such as many probes at once, shares the next. */
  private readonly readings = new PointReader<LedgerCounts>((asked) => this.readAll(asked));

  constructor(private readonly database: Database) {
    const { dialect } = database;
    const name = dialect.jsonAt(0, { name: 'name', type: 'text' });
    this.selectCounts =
      `SELECT "name", "value" FROM "ledger_counters" WHERE "name" IN (SELECT ${name} FROM ${dialect.jsonElements('$1')}) ` +
      `UNION ALL SELECT '', "sequence" FROM "ledger_head" WHERE "id" = 1`;
  }

  /** Sequence of the last entry; 0 when there is none. */
  async headSequence(): Promise<number> {
    const [head] = await this.database.points.all<{ sequence: number }>(SELECT_HEAD_SEQUENCE);
    return head?.sequence ?? 0;
  }

  read(counters: readonly string[]): Promise<LedgerCounts> {
    return this.readings.find(JSON.stringify(counters)) as Promise<LedgerCounts>;
  }

  private async readAll(asked: readonly string[]): Promise<ReadonlyMap<string, LedgerCounts>> {
    const lists = new Map(asked.map((text) => [text, JSON.parse(text) as string[]]));
    const names = new Set([...lists.values()].flat());
    const rows = await this.database.points.all<{ name: string; value: number }>(this.selectCounts, [
      arraysOfOne(names),
    ]);
    const values = new Map(rows.map(({ name, value }) => [name, value]));
    const counted = (name: string): number => values.get(name) ?? 0;
    return new Map(
      [...lists].map(([text, counters]) => [text, { entries: counted(''), records: counters.map(counted) }]),
    );
  }
}
