import { Injectable } from '@nestjs/common';
import { Database } from '../../ledger/database/database';
import { type Dialect, quoted } from '../../ledger/database/dialect';
import type { SqlConnection, SqlValue } from '../../ledger/database/sql-connection';
import { saysStateSql } from '../../ledger/chain/entry-columns';
import { chunksOf } from '../../ledger/reading/chunks';
import { counterName, ENTRIES_COUNTED_BY, ENTRY_COUNTER } from '../../ledger/records/counter-name';
import { LIST_ITEMS } from '../../ledger/records/statements';
import { RecordCatalog } from '../../ledger/records/record-catalog';
import type { RecordCodec } from '../../ledger/records/record-codec';
import { LEFTOVERS } from '../../ledger/schema/ledger-tables';
import { inParts, type IsAsked } from './parts';

/** Most list items and records that one statement reads. */
const CHUNK_ITEMS = 500;
/** Most rows that one statement reads: a file may have to be read past their long columns. */
const CHUNK_ROWS = 1_000;

/** Before the first sequence that drivers do not round. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER - 1;
const LAST = Number.MAX_SAFE_INTEGER;

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

  /**
   * In chunks, the names of counters with a wrong value. Counters move with what they count, so all of one table are
   * read in a transaction with a single snapshot; each table has its own, as the database has to keep what changes
   * meanwhile.
   */
  async *wrongCounters(): AsyncGenerator<string[]> {
    const connection = await this.database.openReader();
    const { chunkRows } = this;
    const { dialect } = this.database;
    try {
      for (const counted of [...this.catalog.all.map(countedRecords), COUNTED_ENTRIES]) {
        await connection.run(dialect.beginReading);
        yield* wrongAmong({ connection, dialect, chunkRows }, counted);
        await connection.run('COMMIT');
      }
    } finally {
      await connection.close();
    }
  }

  /** Counters of nothing that the ledger counts: somebody added them, or a module that is no longer loaded. */
  async *strayCounters(): AsyncGenerator<string[]> {
    const { chain: connection, dialect } = this.database;
    const known = [...this.catalog.all.map(countedRecords), COUNTED_ENTRIES];
    for await (const chunk of keptCounters({ connection, dialect, chunkRows: this.chunkRows }, '')) {
      const stray = chunk.filter(({ name, isText }) => !isText || !known.some((counted) => isOf(counted, name)));
      yield stray.map(({ name }) => name);
    }
  }

  /** In chunks, the ids in list items that name no record. */
  async *recordsOfStrayItems(): AsyncGenerator<string[]> {
    const { chain, dialect } = this.database;
    const chunks = chunksOf<ListedRecord>((last) =>
      chain.all(listedRecordsSql(this.catalog.all, dialect, last === undefined, this.chunkItems), [
        last?.place ?? null,
      ]),
    );
    for await (const listed of chunks) {
      const stray = listed.filter(({ records }) => Number(records) === 0);
      yield [...new Set(stray.map(({ recordId }) => recordId))];
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
    const chunks = chunksOf<{ place: SqlValue; sequence: number | null }>(async (last) => {
      const sql = lastEntrySql(codec, dialect, last === undefined, this.chunkItems);
      const rows = await chain.all<{ place: SqlValue; sequence: number | null }>(sql, [last?.place ?? null, upTo]);
      return rows.filter(({ place }) => place !== null);
    });
    for await (const [chunk] of chunks) yield chunk?.sequence ?? 0;
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

/** A table whose rows are counted. */
interface Counted {
  readonly counter: string;
  readonly table: string;
  readonly sequence: string;
  /** Columns with a counter for each value. */
  readonly columns: readonly string[];
  /** Whether there is a counter of all rows. */
  readonly isCountedAsWhole: boolean;
  /** Columns with a counter for each item of their lists. */
  readonly lists: readonly string[];
  /** A condition of rows, of the alias `live`, that are counted no longer, and still to be deleted. */
  readonly isLeftover: string;
}

const COUNTED_ENTRIES: Counted = {
  counter: ENTRY_COUNTER,
  table: 'ledger_entries',
  sequence: 'sequence',
  columns: ENTRIES_COUNTED_BY,
  isCountedAsWhole: false,
  lists: [],
  isLeftover: 'FALSE',
};

function countedRecords({ table, kind }: RecordCodec): Counted {
  const { counter, countedBy: columns = [], listColumns: lists = [], owner, subjectType } = kind;
  return {
    ...{ counter, table, sequence: 'createdSequence', columns, lists },
    isCountedAsWhole: true,
    isLeftover:
      owner === undefined
        ? 'FALSE'
        : `EXISTS (SELECT 1 FROM "${LEFTOVERS}" AS gone WHERE gone."subjectType" = '${subjectType}' ` +
          `AND gone."ownerId" = live.${quoted(owner.column)})`,
  };
}

/** Whether the name is that of one of its counters. */
function isOf({ counter, columns, lists, isCountedAsWhole }: Counted, name: string): boolean {
  if (name === counter) return isCountedAsWhole;
  return [...columns, ...lists].some((column) => name.startsWith(counterName(counter, column, '')));
}

/** In chunks, the names of its counters with a wrong value. The connection must show a single snapshot. */
async function* wrongAmong(source: CounterSource, counted: Counted): AsyncGenerator<string[]> {
  let names = 0;
  for await (const chunk of keptCounters(source, counted.counter)) names += chunk.length;
  yield* inParts(names, (isAsked) => wrongInPart(source, counted, isAsked));
  if (counted.columns.length > 0) yield await uncounted(source, counted);
}

/** The counters of rows that are beyond all sequences, and so in no chunk: the ledger has not counted them. */
async function uncounted({ connection, chunkRows }: CounterSource, counted: Counted): Promise<string[]> {
  const { table, sequence, columns } = counted;
  const rows = await connection.all<Group>(
    `SELECT ${columns.map(quoted).join(', ')} FROM ${quoted(table)} ` +
      `WHERE ${quoted(sequence)} > ${LAST} LIMIT ${chunkRows}`,
  );
  return [...new Set(rows.flatMap((row) => namesOf({ ...counted, isCountedAsWhole: false }, row)))];
}

/** Adds up what the counters should be, then compares those that are kept. A missing counter means zero. */
async function* wrongInPart(source: CounterSource, counted: Counted, isAsked: IsAsked): AsyncGenerator<string[]> {
  const expected = new Map<string, number>();
  const add = (name: string, step: number): void => {
    if (isAsked(name) && isOf(counted, name)) expected.set(name, (expected.get(name) ?? 0) + step);
  };
  for await (const groups of countedGroups(source, counted)) {
    for (const group of groups) for (const name of namesOf(counted, group)) add(name, Number(group['chunk.counted']));
    yield [];
  }
  for await (const items of countedItems(source, counted)) {
    for (const { name, counted: step } of items) add(name, Number(step));
    yield [];
  }
  for await (const chunk of keptCounters(source, counted.counter)) {
    const kept = chunk.filter(({ name }) => isOf(counted, name) && isAsked(name));
    yield kept.filter(({ name, value }) => value !== (expected.get(name) ?? 0)).map(({ name }) => name);
    for (const { name } of kept) expected.delete(name);
  }
  yield Array.from(expected).flatMap(([name, value]) => (value === 0 ? [] : name));
}

/** Rows of a chunk that have the same values, and the last one's sequence. */
interface Group extends Readonly<Record<string, SqlValue>> {
  readonly 'chunk.last': number | null;
  readonly 'chunk.counted': SqlValue;
}

function namesOf({ counter, columns, isCountedAsWhole }: Counted, group: Group): string[] {
  const ofValues = columns
    .filter((column) => group[column] !== null)
    .map((column) => counterName(counter, column, group[column]));
  return isCountedAsWhole ? [counter, ...ofValues] : ofValues;
}

async function* countedGroups({ connection, chunkRows }: CounterSource, counted: Counted): AsyncGenerator<Group[]> {
  const sql = groupsSql(counted, chunkRows);
  for (let after = BEFORE_ALL; ;) {
    const groups = await connection.all<Group>(sql, [after]);
    const ends = groups.flatMap((group) => group['chunk.last'] ?? []);
    if (ends.length === 0) return;
    yield groups;
    after = Math.max(...ends);
  }
}

/** The next rows after the sequence `$1`, by the values in their columns. */
function groupsSql({ table, sequence, columns, isLeftover }: Counted, chunkRows: number): string {
  const place = quoted(sequence);
  const values = columns.map((column) => `, ${quoted(column)}`).join('');
  const groups = columns.length === 0 ? '' : ` GROUP BY ${columns.map(quoted).join(', ')}`;
  return (
    `SELECT max("chunk.place") AS "chunk.last", sum("chunk.counts") AS "chunk.counted"${values} FROM ` +
    `(SELECT ${place} AS "chunk.place", CASE WHEN ${isLeftover} THEN 0 ELSE 1 END AS "chunk.counts"${values} ` +
    `FROM ${quoted(table)} AS live WHERE ${place} > $1 AND ${place} <= ${LAST} ORDER BY ${place} LIMIT ${chunkRows}) AS chunk${groups}`
  );
}

interface CountedItem {
  /** The item in a form that drivers do not alter. */
  readonly place: string;
  readonly name: string;
  readonly counted: SqlValue;
  /** The sequence of the last one of the chunk. */
  readonly last: number;
}

async function* countedItems(
  { connection, dialect, chunkRows }: CounterSource,
  { counter, lists }: Counted,
): AsyncGenerator<CountedItem[]> {
  if (lists.length === 0) return;
  const sql = itemsSql(counter, dialect, chunkRows);
  yield* chunksOf<CountedItem>((last) => connection.all(sql, [last?.place ?? null, last?.last ?? BEFORE_ALL]));
}

/** The next items of lists after the position `$1` (null: the first) and the sequence `$2`: their names are counters'. */
function itemsSql(counter: string, dialect: Dialect, chunkRows: number): string {
  return (
    `SELECT ${dialect.place('"item"')} AS "place", "item" AS "name", "counted", "last" FROM ` +
    `(SELECT "item", count(*) AS "counted", max("createdSequence") AS "last" FROM ` +
    `(SELECT "item", "createdSequence" FROM ${quoted(LIST_ITEMS)} ` +
    `WHERE ("item", "createdSequence") > (COALESCE(${dialect.placeAt('$1')}, '${counter}:'), $2) AND "item" < '${counter};' ` +
    `AND "createdSequence" <= ${LAST} ORDER BY "item", "createdSequence" LIMIT ${chunkRows}) AS rows_of_chunk ` +
    `GROUP BY "item") AS chunk ORDER BY chunk."item"`
  );
}

interface KeptCounter {
  /** The name in a form that drivers do not alter. */
  readonly place: string;
  readonly name: string;
  /** Anything: a column of SQLite accepts values of any type. */
  readonly value: SqlValue;
  /** False if the name is stored as bytes, as SQLite allows. */
  readonly isText: boolean | number;
}

/** In chunks, the stored counters whose names begin with a counter's; empty: all. ";" is the character after ":". */
function keptCounters(
  { connection, dialect, chunkRows }: CounterSource,
  counter: string,
): AsyncGenerator<KeptCounter[]> {
  const end = counter === '' ? '' : ` AND "name" < '${counter};'`;
  const sql = (comparison: string): string =>
    `SELECT ${dialect.place('"name"')} AS "place", CAST("name" AS text) AS "name", "value", ` +
    `"name" = CAST("name" AS text) AS "isText" FROM "ledger_counters" AS counter ` +
    `WHERE counter."name" ${comparison} COALESCE(${dialect.placeAt('$1')}, '${counter}')${end} ` +
    `ORDER BY counter."name" LIMIT ${chunkRows}`;
  return chunksOf((last) => connection.all(sql(last === undefined ? '>=' : '>'), [last?.place ?? null]));
}
