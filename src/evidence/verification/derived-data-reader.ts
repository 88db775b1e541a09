import { Injectable } from '@nestjs/common';
import { Database } from '../../ledger/database/database';
import { type Dialect, quoted } from '../../ledger/database/dialect';
import type { SqlConnection, SqlValue } from '../../ledger/database/sql-connection';
import { saysStateSql } from '../../ledger/chain/entry-columns';
import { counterName, ENTRIES_COUNTED_BY, ENTRY_COUNTER } from '../../ledger/records/counter-name';
import { LIST_ITEMS } from '../../ledger/records/statements';
import { RecordCatalog } from '../../ledger/records/record-catalog';
import type { RecordCodec } from '../../ledger/records/record-codec';
import { LEFTOVERS } from '../../ledger/schema/ledger-tables';

/** Most list items and records that one statement reads. */
const CHUNK_ITEMS = 500;
/** Most rows that one statement reads. */
const CHUNK_ROWS = 5_000;

/** Before the first sequence that drivers do not round. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER - 1;

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
    for (let after: SqlValue = null, isFirst = true; ; isFirst = false) {
      const sql = listedRecordsSql(this.catalog.all, dialect, isFirst, this.chunkItems);
      const listed: ListedRecord[] = await chain.all(sql, [after]);
      const stray = listed.filter(({ records }) => Number(records) === 0);
      yield [...new Set(stray.map(({ recordId }) => recordId))];
      const last = listed.at(-1);
      if (last === undefined) return;
      after = last.place;
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

interface ListedRecord {
  /** Its id in a form that drivers do not alter. */
  readonly place: string;
  readonly recordId: string;
  /** How many there are. */
  readonly records: number | string;
}

/** The records that the next list items after the position `$1` name; other items of the last one are not read. */
function listedRecordsSql(codecs: Iterable<RecordCodec>, dialect: Dialect, isFirst: boolean, limit: number): string {
  const counts = [...codecs]
    .filter(({ kind }) => kind.listColumns !== undefined)
    .map(({ table }) => `(SELECT count(*) FROM ${quoted(table)} AS live WHERE live."id" = items."recordId")`);
  return (
    `SELECT ${dialect.place('"recordId"')} AS "place", CAST("recordId" AS text) AS "recordId", ` +
    `${['0', ...counts].join(' + ')} AS "records" ` +
    `FROM (SELECT "recordId" FROM ${quoted(LIST_ITEMS)} WHERE "recordId" ${isFirst ? '>=' : '>'} COALESCE(${dialect.placeAt('$1')}, '') ` +
    `ORDER BY "recordId" LIMIT ${limit}) AS items ORDER BY items."recordId"`
  );
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

/** Where to read counters and what they count, and how many rows at once. */
interface CounterSource {
  readonly connection: Pick<SqlConnection, 'all'>;
  readonly dialect: Dialect;
  readonly chunkRows: number;
}

/** The values of a column, each with its own counter. There is an index (column, sequence). */
interface CountedValues {
  readonly prefix: string;
  readonly table: string;
  readonly column: string;
  readonly sequence: string;
  /** List items have the full names of their counters; other values are appended to the prefix. */
  readonly isNamed: boolean;
}

/** A counter as it should be, or as it is. Both are read in the order of names. */
interface Counter {
  /** The name in a form that drivers do not alter. */
  readonly place: string;
  readonly name: string;
  /** Of a stored one, anything: a column of SQLite accepts values of any type. */
  readonly value: SqlValue;
}

interface KeptCounter extends Counter {
  /** False if the name is stored as bytes, as SQLite allows. */
  readonly isText: boolean | number;
}

/** Every column of records, lists of records, and entries with a counter per value. */
function countedValues(codecs: Iterable<RecordCodec>): CountedValues[] {
  const ofRecords = [...codecs].flatMap(({ kind, table }) => {
    const { counter, countedBy = [], listColumns = [] } = kind;
    const sequence = 'createdSequence';
    return [
      ...countedBy.map((column) => ({ prefix: prefixOf(counter, column), table, column, sequence, isNamed: false })),
      ...listColumns.map((column) => ({
        ...{ prefix: prefixOf(counter, column), table: LIST_ITEMS, column: 'item', sequence, isNamed: true },
      })),
    ];
  });
  const ofEntries = ENTRIES_COUNTED_BY.map((column) => {
    const prefix = prefixOf(ENTRY_COUNTER, column);
    return { prefix, table: 'ledger_entries', column, sequence: 'sequence', isNamed: false };
  });
  return [...ofRecords, ...ofEntries];
}

function prefixOf(counter: string, column: string): string {
  return counterName(counter, column, '');
}

/** In chunks, the name of the counter of a kind's records if it is wrong. The connection must show a single snapshot. */
async function* wrongRowCounters(source: CounterSource, codec: RecordCodec): AsyncGenerator<string[]> {
  const { connection, chunkRows } = source;
  const { counter: name } = codec.kind;
  let total = 0;
  for (let after = BEFORE_ALL; ;) {
    const [chunk] = await connection.all<{ last: number | null; counted: SqlValue }>(rowsSql(codec, chunkRows), [
      after,
    ]);
    if (typeof chunk?.last !== 'number') break;
    total += Number(chunk.counted);
    after = chunk.last;
    yield [];
  }
  const [kept] = await connection.all<{ value: SqlValue }>(SELECT_COUNTER, [name]);
  // A missing counter means zero.
  if ((kept?.value ?? 0) !== total) yield [name];
}

/**
 * In chunks, the names of wrong counters of values. Rows and counters are both read in the order of names, and compared
 * like two sorted lists. The connection must show a single snapshot throughout.
 */
async function* wrongValueCounters(source: CounterSource, values: CountedValues): AsyncGenerator<string[]> {
  const kept = eachKeptCounter(source, values.prefix);
  const nextKept = async (): Promise<Counter | null> => (await kept.next()).value ?? null;
  let next = await nextKept();
  for await (const chunk of countedInRows(source, values)) {
    const wrong: string[] = [];
    for (const counted of chunk) {
      for (; next !== null && isBefore(next, counted); next = await nextKept()) {
        if (next.value !== 0) wrong.push(next.name);
      }
      const isKept = next?.place === counted.place;
      if ((isKept ? next?.value : 0) !== counted.value) wrong.push(counted.name);
      if (isKept) next = await nextKept();
    }
    yield wrong;
  }
  for (; next !== null; next = await nextKept()) yield next.value === 0 ? [] : [next.name];
  // List items that cannot be read in order are searched for separately.
  if (!values.isNamed) yield await uncounted(source, values);
}

/** The counters of rows that are beyond all sequences, and so in no chunk: the ledger has not counted them. */
async function uncounted({ connection, chunkRows }: CounterSource, values: CountedValues): Promise<string[]> {
  const { prefix, table, column, sequence } = values;
  const rows = await connection.all<{ name: string }>(
    `SELECT '${prefix}' || ${quoted(column)} AS "name" FROM ${quoted(table)} ` +
      `WHERE ${quoted(sequence)} > ${Number.MAX_SAFE_INTEGER} AND ${quoted(column)} IS NOT NULL LIMIT ${chunkRows}`,
  );
  return [...new Set(rows.map(({ name }) => name))];
}

/** In chunks, the names of counters of nothing that the ledger counts. */
async function* strayCounters(source: CounterSource, codecs: Iterable<RecordCodec>): AsyncGenerator<string[]> {
  const all = [...codecs];
  const names = new Set(all.map(({ kind }) => kind.counter));
  const prefixes = countedValues(all).map(({ prefix }) => prefix);
  const isKnown = ({ name, isText }: KeptCounter): boolean =>
    Boolean(isText) && (names.has(name) || prefixes.some((prefix) => name.startsWith(prefix)));
  for await (const chunk of keptCounters(source, '')) {
    yield chunk.filter((counter) => !isKnown(counter)).map(({ name }) => name);
  }
}

/** By their bytes, as the database sorts them. */
function isBefore(one: Counter, other: Counter): boolean {
  return Buffer.compare(Buffer.from(one.place), Buffer.from(other.place)) < 0;
}

interface CountedPart extends Counter {
  /** The value that is counted, as a position. */
  readonly item: string;
  readonly value: number;
  /** The sequence of the last row of the chunk that has it. */
  readonly last: number;
}

/** In chunks, the counters that the rows' values should have. */
async function* countedInRows(source: CounterSource, values: CountedValues): AsyncGenerator<Counter[]> {
  const { connection, dialect, chunkRows } = source;
  const sql = valuesSql(values, dialect, chunkRows);
  // More rows with the last value may follow.
  let open: CountedPart | null = null;
  for (;;) {
    const parts: CountedPart[] = await connection.all(sql, [open?.item ?? null, open?.last ?? BEFORE_ALL]);
    if (parts.length === 0) break;
    const counted: CountedPart[] = open === null ? [] : [open];
    for (const part of parts) {
      const last = counted.at(-1);
      if (last?.item === part.item) counted[counted.length - 1] = { ...part, value: last.value + part.value };
      else counted.push(part);
    }
    open = counted.pop() ?? null;
    yield counted;
  }
  if (open !== null) yield [open];
}

async function* eachKeptCounter(source: CounterSource, prefix: string): AsyncGenerator<Counter, null> {
  for await (const chunk of keptCounters(source, prefix)) yield* chunk;
  return null;
}

/** In chunks, the stored counters whose names have the prefix. */
async function* keptCounters(
  { connection, dialect, chunkRows }: CounterSource,
  prefix: string,
): AsyncGenerator<KeptCounter[]> {
  for (let after: string | null = null, isLast = false; !isLast;) {
    const chunk: KeptCounter[] = await connection.all(keptSql(dialect, after === null, prefix, chunkRows), [after]);
    yield chunk;
    isLast = chunk.length < chunkRows;
    after = chunk.at(-1)?.place ?? null;
  }
}

const SELECT_COUNTER = 'SELECT "value" FROM "ledger_counters" WHERE "name" = $1';

/**
 * How many of the next rows after the sequence `$1` are counted, and where they end. Rows whose owner was removed are no
 * longer counted, and still to be deleted.
 */
function rowsSql({ table, kind: { owner, subjectType } }: RecordCodec, chunkRows: number): string {
  const isLeftover =
    owner === undefined
      ? 'FALSE'
      : `EXISTS (SELECT 1 FROM "${LEFTOVERS}" AS gone WHERE gone."subjectType" = '${subjectType}' ` +
        `AND gone."ownerId" = live.${quoted(owner.column)})`;
  return (
    `SELECT max("createdSequence") AS "last", sum("counts") AS "counted" FROM (SELECT "createdSequence", ` +
    `CASE WHEN ${isLeftover} THEN 0 ELSE 1 END AS "counts" FROM ${quoted(table)} AS live ` +
    `WHERE "createdSequence" > $1 AND "createdSequence" <= ${Number.MAX_SAFE_INTEGER} ` +
    `ORDER BY "createdSequence" LIMIT ${chunkRows}) AS chunk`
  );
}

/** The values of the next rows after a position (null: the first) and a sequence, each with the number of these rows. */
function valuesSql(values: CountedValues, dialect: Dialect, chunkRows: number): string {
  const [column, sequence] = [quoted(values.column), quoted(values.sequence)];
  const first = values.isNamed ? values.prefix : '';
  const end = values.isNamed ? `AND ${column} < '${endOf(values.prefix)}' ` : '';
  const name = values.isNamed ? '"item"' : `('${values.prefix}' || "item")`;
  return (
    `SELECT ${dialect.place('"item"')} AS "item", ${dialect.place(name)} AS "place", ${name} AS "name", ` +
    `"counted" AS "value", "last" FROM (SELECT "item", count(*) AS "counted", max("position") AS "last" FROM ` +
    `(SELECT ${column} AS "item", ${sequence} AS "position" FROM ${quoted(values.table)} ` +
    `WHERE (${column}, ${sequence}) > (COALESCE(${dialect.placeAt('$1')}, '${first}'), $2) ${end}` +
    `AND ${sequence} <= ${Number.MAX_SAFE_INTEGER} ORDER BY ${column}, ${sequence} LIMIT ${chunkRows}) AS rows_of_chunk ` +
    `GROUP BY "item") AS chunk ORDER BY chunk."item"`
  );
}

/** The next stored counters after the position `$1`, with a prefix. */
function keptSql(dialect: Dialect, isFirst: boolean, prefix: string, chunkRows: number): string {
  const end = prefix === '' ? '' : ` AND "name" < '${endOf(prefix)}'`;
  return (
    `SELECT ${dialect.place('"name"')} AS "place", CAST("name" AS text) AS "name", "value", ` +
    `"name" = CAST("name" AS text) AS "isText" FROM "ledger_counters" AS counter ` +
    `WHERE counter."name" ${isFirst ? '>=' : '>'} COALESCE(${dialect.placeAt('$1')}, '${prefix}')${end} ` +
    `ORDER BY counter."name" LIMIT ${chunkRows}`
  );
}

/** The end of the prefix: ";" is the character after ":". */
function endOf(prefix: string): string {
  return `${prefix.slice(0, -1)};`;
}
