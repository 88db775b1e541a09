import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import type { SqlConnection, SqlValue } from '../database/sql-connection';
import { rowLists } from '../ledger/reading/row-lists';
import { RecordCatalog } from '../ledger/records/record-catalog';
import type { RecordCodec } from '../ledger/records/record-codec';
import { namesInChunks, wrongRowCounters, wrongValueCounters } from './counter-chunks';
import { countedRows, countedValues, CHUNK_ROWS, strayCountersSql } from './counter-queries';
import { lastEntrySql, listItemsSql, SELECT_HEAD, unreadableItemsSql } from './derived-data-queries';

/** Most list items and records that one statement reads. */
const CHUNK_ITEMS = 500;
const ITEM_COLUMNS = ['place', 'createdSequence', 'recordId', 'records'] as const;

type ItemPlace = readonly [place: SqlValue, sequence: SqlValue];

/** The head record, next to what it should say. */
export interface HeadRow {
  readonly sequence: SqlValue;
  readonly timestamp: SqlValue;
  readonly lastUlid: SqlValue;
  readonly effectSequence: SqlValue;
  readonly schemaVersion: SqlValue;
  /** Rows of the head's table; 2 stands for more. */
  readonly heads: number;
  /** Of the entry at the head's sequence; null: there is none. */
  readonly entryId: string | null;
  readonly entryTimestamp: string | null;
}

/**
 * Reads derived data, which the ledger keeps for speed, together with the records and entries it is derived from. No
 * statement reads more rows than a chunk has, however large the tables are.
 */
@Injectable()
export class DerivedDataReader {
  private readonly chunkRows: number = CHUNK_ROWS;
  private readonly chunkItems: number = CHUNK_ITEMS;

  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
  ) {}

  /** In chunks, the names of counters with a wrong value. */
  async *wrongCounters(): AsyncGenerator<string[]> {
    const { dialect } = this.database;
    const connection = await this.database.openReader();
    const source = { connection, dialect, chunkRows: this.chunkRows };
    try {
      for (const rows of countedRows(this.catalog.all)) {
        yield* this.ofOneMoment(connection, wrongRowCounters(source, rows));
      }
      for (const values of countedValues(this.catalog.all)) {
        yield* this.ofOneMoment(connection, wrongValueCounters(source, values));
      }
    } finally {
      await connection.close();
    }
  }

  /** Counters of nothing that the ledger counts: somebody added them, or a module that is no longer loaded. */
  async *strayCounters(): AsyncGenerator<string[]> {
    const { chain: connection, dialect } = this.database;
    const sql = (isFirst: boolean): string => strayCountersSql(this.catalog.all, dialect, isFirst);
    yield* namesInChunks({ connection, dialect, chunkRows: this.chunkRows }, '', sql);
  }

  /** In chunks, the ids in list items that name no record. */
  async *recordsOfStrayItems(): AsyncGenerator<string[]> {
    const { chain, dialect } = this.database;
    const source = { connection: chain, dialect, columns: ITEM_COLUMNS };
    let after: ItemPlace = [null, Number.MIN_SAFE_INTEGER];
    for (let isFirst = true, isLast = false; !isLast; isFirst = false) {
      const sql = listItemsSql(this.catalog.all, dialect, isFirst);
      const lists = await rowLists(source, sql, [...after, this.chunkItems]);
      const items = JSON.parse(lists) as SqlValue[][];
      isLast = items.length < this.chunkItems;
      const [place = null, createdSequence = null] = items.at(-1) ?? [];
      const upTo: ItemPlace = [place, createdSequence];
      yield items.filter(([, , , records]) => records === 0).map(([, , recordId]) => String(recordId));
      yield await this.unreadableItems(isFirst ? null : after, isLast ? null : upTo);
      after = upTo;
    }
  }

  /** Undefined: the head record is missing. */
  async head(): Promise<HeadRow | undefined> {
    const [head] = await this.database.chain.all<HeadRow>(SELECT_HEAD);
    return head;
  }

  /** In chunks, the last entries up to a sequence about records that processes keep in memory. */
  async *effects(upTo: SqlValue): AsyncGenerator<number> {
    for (const codec of this.catalog.all) if (codec.kind.isKeptInMemory === true) yield* this.effectsOf(codec, upTo);
  }

  private async *effectsOf(codec: RecordCodec, upTo: SqlValue): AsyncGenerator<number> {
    const { chain, dialect } = this.database;
    for (let after: SqlValue = null, isFirst = true; ; isFirst = false) {
      const sql = lastEntrySql(codec, dialect, isFirst, this.chunkItems);
      const [chunk]: { place: SqlValue; sequence: number | null }[] = await chain.all(sql, [after, upTo]);
      after = chunk?.place ?? null;
      if (after === null) return;
      yield chunk?.sequence ?? 0;
    }
  }

  /** Between two positions; null: unbounded on that side. */
  private async unreadableItems(after: ItemPlace | null, upTo: ItemPlace | null): Promise<string[]> {
    const { chain, dialect } = this.database;
    const bounds = [
      { comparison: '>', at: after },
      { comparison: '<=', at: upTo },
    ].filter(({ at }) => at !== null);
    const comparisons = bounds.map(({ comparison }) => comparison);
    const sql = unreadableItemsSql(this.catalog.all, dialect, comparisons, 2 * this.chunkItems);
    const parameters = bounds.flatMap(({ at }) => at ?? []);
    const rows = await chain.all<{ recordId: string }>(sql, parameters);
    return rows.map(({ recordId }) => recordId);
  }

  /**
   * Counters move with what they count, so both are read in a transaction with a single snapshot. Each chunk sequence
   * has its own, as the database has to keep what changes meanwhile.
   */
  private async *ofOneMoment<Chunk>(connection: SqlConnection, chunks: AsyncGenerator<Chunk>): AsyncGenerator<Chunk> {
    await connection.run(this.database.dialect.beginReading);
    yield* chunks;
    await connection.run('COMMIT');
  }
}
