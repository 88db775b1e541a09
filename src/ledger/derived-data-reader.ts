import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import type { SqlValue } from '../database/sql-connection';
import {
  countedGroups,
  headSql,
  listItemsSql,
  strayCountersSql,
  unreadableItemsSql,
  wrongCountersSql,
} from './derived-data-queries';
import { RecordCatalog } from './record-catalog';
import { rowLists } from './row-lists';

const PIECE_ITEMS = 500;
const ITEM_COLUMNS = ['place', 'createdSequence', 'recordId', 'records'] as const;

/** Counters that say something else than what they count, or that count nothing there is. */
export interface WrongCounters {
  readonly count: number;
  /** The first of them. */
  readonly names: readonly string[];
}

/** The head record, beside what it should say. */
export interface HeadRow {
  readonly sequence: SqlValue;
  readonly timestamp: SqlValue;
  readonly lastUlid: SqlValue;
  readonly effectSequence: SqlValue;
  readonly schemaVersion: SqlValue;
  /** Rows of the head's table. */
  readonly heads: number;
  /** The last entry about a record that processes keep in memory; 0 when there is none. */
  readonly lastEffect: number;
  /** Of the entry at the head's sequence; null: there is none. */
  readonly entryId: string | null;
  readonly entryTimestamp: string | null;
}

interface CounterRow {
  readonly name: string;
  /** How many such rows there are. */
  readonly all: number;
}

/** Reads what the ledger keeps beside records and entries for speed, held against what it is derived from. */
@Injectable()
export class DerivedDataReader {
  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
  ) {}

  /** One group of counters after another; each is of one moment. @param names how many to name. */
  async *wrongCounters(names: number): AsyncGenerator<WrongCounters> {
    for (const group of countedGroups(this.catalog.all)) {
      const rows = await this.database.chain.all<CounterRow>(wrongCountersSql(group), [names]);
      yield wrongCounters(rows);
    }
  }

  /** Counters of nothing that the ledger counts: somebody put them in, or a module that is not loaded any more did. */
  async strayCounters(names: number): Promise<WrongCounters> {
    const sql = strayCountersSql(countedGroups(this.catalog.all));
    return wrongCounters(await this.database.chain.all<CounterRow>(sql, [names]));
  }

  /** In pieces, the ids in list items that name no record; of items that cannot be read in order, those of one piece. */
  async *recordsOfStrayItems(): AsyncGenerator<string[]> {
    const { chain, dialect } = this.database;
    const unreadable = await chain.all<{ recordId: string }>(unreadableItemsSql(this.catalog.all), [PIECE_ITEMS]);
    yield unreadable.map(({ recordId }) => recordId);
    const source = { connection: chain, dialect, columns: ITEM_COLUMNS };
    let after: readonly [place: SqlValue, sequence: SqlValue] = [null, Number.MIN_SAFE_INTEGER];
    for (let isFirst = true; ; isFirst = false) {
      const sql = listItemsSql(this.catalog.all, dialect, isFirst);
      const lists = await rowLists(source, sql, [...after, PIECE_ITEMS]);
      const items = JSON.parse(lists) as SqlValue[][];
      const [place, createdSequence] = items.at(-1) ?? [];
      if (place === undefined || createdSequence === undefined) return;
      after = [place, createdSequence];
      yield items.filter(([, , , records]) => records === 0).map(([, , recordId]) => String(recordId));
    }
  }

  /** Undefined: the head record is gone. */
  async head(): Promise<HeadRow | undefined> {
    const [head] = await this.database.chain.all<HeadRow>(headSql(this.catalog.all));
    return head;
  }
}

function wrongCounters(rows: readonly CounterRow[]): WrongCounters {
  return { count: rows[0]?.all ?? 0, names: rows.map(({ name }) => name) };
}
