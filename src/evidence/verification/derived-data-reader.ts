import { Injectable } from '@nestjs/common';
import { Database } from '../../ledger/database/database';
import { type Dialect, quoted } from '../../ledger/database/dialect';
import type { SqlConnection, SqlValue } from '../../ledger/database/sql-connection';
import { rowLists } from '../../ledger/reading/row-lists';
import { saysStateSql } from '../../ledger/chain/entry-columns';
import { IS_LISTED_SEQUENCE, IS_TEXT_ITEM, LIST_ITEMS } from '../../ledger/records/statements';
import { RecordCatalog } from '../../ledger/records/record-catalog';
import type { RecordCodec } from '../../ledger/records/record-codec';
import {
  CHUNK_ROWS,
  countedValues,
  type CounterSource,
  strayCounters,
  wrongRowCounters,
  wrongValueCounters,
} from './counters';

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
    const connection = await this.database.openReader();
    const source = this.countersOn(connection);
    try {
      for (const codec of this.catalog.all) {
        yield* this.ofOneMoment(connection, wrongRowCounters(source, codec));
      }
      for (const values of countedValues(this.catalog.all)) {
        yield* this.ofOneMoment(connection, wrongValueCounters(source, values));
      }
    } finally {
      await connection.close();
    }
  }

  /** Counters of nothing that the ledger counts: somebody added them, or a module that is no longer loaded. */
  strayCounters(): AsyncGenerator<string[]> {
    return strayCounters(this.countersOn(this.database.chain), this.catalog.all);
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

  private countersOn(connection: CounterSource['connection']): CounterSource {
    return { connection, dialect: this.database.dialect, chunkRows: this.chunkRows };
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

/**
 * List items after a position (null: the first) and a sequence, at most `$3`, each with the number of records it
 * belongs to.
 */
function listItemsSql(codecs: Iterable<RecordCodec>, dialect: Dialect, isFirst: boolean): string {
  const after = `COALESCE(${dialect.placeAt('$1')}, '')`;
  return (
    `SELECT ${dialect.place('"item"')} AS "place", "createdSequence", CAST("recordId" AS text) AS "recordId", ${recordsOfItem(codecs)} AS "records" ` +
    `FROM ${quoted(LIST_ITEMS)} AS items WHERE ("item", "createdSequence") ${isFirst ? '>=' : '>'} (${after}, $2) ` +
    `AND ${IS_READABLE} ORDER BY "item", "createdSequence" LIMIT $3`
  );
}

/**
 * The ids in list items that such a query does not reach, and that name no record: among the first `limit` items within
 * bounds, each of which is a comparison with a position and a sequence.
 */
function unreadableItemsSql(
  codecs: Iterable<RecordCodec>,
  dialect: Dialect,
  comparisons: readonly string[],
  limit: number,
): string {
  const bounds = comparisons.map((comparison, index) => {
    const [place, sequence] = [dialect.placeAt(`$${2 * index + 1}`), `$${2 * index + 2}`];
    return `("item", "createdSequence") ${comparison} (${place}, ${sequence})`;
  });
  return (
    `SELECT CAST("recordId" AS text) AS "recordId" FROM (SELECT "item", "createdSequence", "recordId" FROM ${quoted(LIST_ITEMS)} ` +
    `WHERE ${['TRUE', ...bounds].join(' AND ')} ORDER BY "item", "createdSequence" LIMIT ${limit}) AS items ` +
    `WHERE NOT (${IS_READABLE}) AND ${recordsOfItem(codecs)} = 0`
  );
}

const IS_READABLE = `${IS_TEXT_ITEM} AND ${IS_LISTED_SEQUENCE}`;

function recordsOfItem(codecs: Iterable<RecordCodec>): string {
  const records = [...codecs]
    .filter(({ kind }) => kind.listColumns !== undefined)
    .map(({ table }) => `(SELECT count(*) FROM ${quoted(table)} AS live WHERE live."id" = items."recordId")`);
  return ['0', ...records].join(' + ');
}

/** The head record next to the last entry. */
const SELECT_HEAD =
  `SELECT head."sequence", head."timestamp", head."lastUlid", head."effectSequence", head."schemaVersion", ` +
  `(SELECT count(*) FROM (SELECT 1 FROM "ledger_head" LIMIT 2) AS heads) AS "heads", ` +
  `entry."id" AS "entryId", entry."timestamp" AS "entryTimestamp" FROM "ledger_head" AS head ` +
  `LEFT JOIN "ledger_entries" AS entry ON entry."sequence" = head."sequence" WHERE head."id" = 1`;

/**
 * The last entry up to the sequence `$2` about the next records after the position `$1`, and where these records end.
 */
export function lastEntrySql({ table }: RecordCodec, dialect: Dialect, isFirst: boolean, limit: number): string {
  const lastOf = `SELECT max("sequence") FROM "ledger_entries" AS entry WHERE entry."subjectId" = kept."id" AND entry."sequence" <= $2 AND ${saysStateSql('entry.')}`;
  return (
    `SELECT ${dialect.place('max("id")')} AS "place", max("sequence") AS "sequence" FROM (SELECT kept."id", (${lastOf}) AS "sequence" ` +
    `FROM ${quoted(table)} AS kept WHERE kept."id" ${isFirst ? '>=' : '>'} COALESCE(${dialect.placeAt('$1')}, '') ` +
    `ORDER BY kept."id" LIMIT ${limit}) AS chunk`
  );
}
