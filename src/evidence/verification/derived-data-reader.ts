import { Injectable } from '@nestjs/common';
import { Database } from '../../ledger/database/database';
import { type Dialect, quoteName } from '../../ledger/database/dialect';
import type { SqlConnection, SqlValue } from '../../ledger/database/sql-connection';
import type { StoredEntry } from '../../ledger/chain/stored-entry';
import { chunksOf } from '../../ledger/reading/chunks';
import type { GovernedRow } from '../../ledger/kinds/record-kind';
import {
  counterName,
  countersOf,
  countersOfEntry,
  ENTRIES_COUNTED_BY,
  ENTRY_COUNTER,
} from '../../ledger/records/counters';
import { RecordCatalog } from '../../ledger/records/record-catalog';
import type { RecordCodec } from '../../ledger/records/record-codec';
import { afterPlaceSql, LIST_ITEMS } from '../../ledger/records/statements';
import { LEFTOVERS } from '../../ledger/schema/ledger-tables';
import { isPassedSum, ledgerTime } from '../../governance/policies/limits/passed-sums';
import { takenAmounts, UsedSums } from '../../governance/policies/limits/used-sums';
import { sumName } from '../../ledger/records/sum-key';

/** Most rows that one statement reads: an SQLite file may have to be read past their long columns. */
const CHUNK_ROWS = 1_000;
/** Most rows whose lists, which may be long, one statement reads. */
const CHUNK_LISTS = 100;

/** The integer just below those that drivers read exactly. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER - 1;

/** The head record, with the values that it should have. */
export interface HeadRow {
  readonly sequence: SqlValue;
  readonly timestamp: SqlValue;
  readonly lastUlid: SqlValue;
  readonly effectSequence: SqlValue;
  readonly schemaVersion: SqlValue;
  /** Number of rows in the head's table; 2 stands for more. */
  readonly heads: number;
  /** Id of the entry at the head's sequence; null if there is none. */
  readonly entryId: string | null;
  readonly entryTimestamp: string | null;
}

/**
 * Reads derived data, which the ledger stores for speed, together with the records and entries from which it is
 * derived. No statement reads more rows than a chunk has, even from large tables.
 */
@Injectable()
export class DerivedDataReader {
  private readonly chunkRows: number = CHUNK_ROWS;

  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
  ) {}

  /**
   * Yields, in chunks, the names of counters with a wrong value. Counters move with the counted rows, so everything is
   * read from one snapshot.
   * @param hasUnknownKinds true if there are records of a module that is no longer loaded, so that unknown counters may
   * be theirs; otherwise somebody has added these counters
   */
  wrongCounters(hasUnknownKinds: boolean): AsyncGenerator<string[]> {
    return fromSnapshot(this.database, (connection) =>
      inParts(this.storedCounters(connection), (isInPart) => this.wrongInPart(connection, isInPart, hasUnknownKinds)),
    );
  }

  /** Yields, in chunks, the ids in list items that name no record. */
  async *recordsOfStrayItems(): AsyncGenerator<string[]> {
    const { chain, dialect } = this.database;
    const sql = listedRecordsSql(this.catalog.all, dialect, this.chunkRows);
    const chunks = chunksOf<ListedRecord>((last) => chain.all(sql, [last?.place ?? null]));
    for await (const listed of chunks) {
      const stray = listed.filter(({ records }) => Number(records) === 0);
      yield [...new Set(stray.map(({ recordId }) => recordId))];
    }
  }

  /** Reads the head record; undefined if it is missing. */
  async head(): Promise<HeadRow | undefined> {
    const [head] = await this.database.chain.all<HeadRow>(SELECT_HEAD);
    return head;
  }

  /** Adds up the expected counters, then compares the stored ones. A missing counter means zero. */
  private async *wrongInPart(
    connection: SqlConnection,
    isInPart: IsInPart,
    hasUnknownKinds: boolean,
  ): AsyncGenerator<string[]> {
    const tables = [...this.catalog.all.map(countedRecords), COUNTED_ENTRIES];
    const expected = new Map<string, number>();
    for (const table of tables) {
      for await (const groups of countedGroups(connection, table, this.chunkRows)) {
        for (const group of groups)
          for (const name of table.namesOf(group).filter(isInPart))
            expected.set(name, (expected.get(name) ?? 0) + Number(group['chunk.counted']));
        yield [];
      }
    }
    for await (const chunk of this.storedCounters(connection)) {
      const counters = chunk.filter(({ name }) => isInPart(name));
      const wrong = counters.filter(({ name, value, isText }) => {
        const isKnown = Boolean(isText) && tables.some((table) => table.hasCounter(name));
        return isKnown ? value !== (expected.get(name) ?? 0) : !hasUnknownKinds;
      });
      yield wrong.map(({ name }) => name);
      for (const { name } of counters) expected.delete(name);
    }
    yield Array.from(expected).flatMap(([name, value]) => (value === 0 ? [] : name));
  }

  /** Yields the stored counters, in chunks. */
  private storedCounters(connection: SqlConnection): AsyncGenerator<StoredCounter[]> {
    const { dialect } = this.database;
    const sql =
      `SELECT ${dialect.position('"name"')} AS "place", CAST("name" AS text) AS "name", "value", ` +
      `"name" = CAST("name" AS text) AS "isText" FROM "ledger_counters" AS counter ` +
      `WHERE ${afterPlaceSql('counter."name"', dialect)} ORDER BY counter."name" LIMIT ${this.chunkRows}`;
    return chunksOf((last) => connection.all(sql, [last?.place ?? null]));
  }
}

interface ListedRecord {
  /** Its id in a form that drivers do not alter. */
  readonly place: string;
  readonly recordId: string;
  /** Number of records. */
  readonly records: number | string;
}

/** Selects the records that the next list items after the position `$1` name; skips other items of the last record. */
function listedRecordsSql(codecs: Iterable<RecordCodec>, dialect: Dialect, limit: number): string {
  const counts = [...codecs]
    .filter(({ kind }) => kind.listColumns !== undefined)
    .map(({ table }) => `(SELECT count(*) FROM ${quoteName(table)} AS live WHERE live."id" = items."recordId")`);
  return (
    `SELECT ${dialect.position('"recordId"')} AS "place", CAST("recordId" AS text) AS "recordId", ` +
    `${['0', ...counts].join(' + ')} AS "records" ` +
    `FROM (SELECT "recordId" FROM ${quoteName(LIST_ITEMS)} WHERE ${afterPlaceSql('"recordId"', dialect)} ` +
    `ORDER BY "recordId" LIMIT ${limit}) AS items ORDER BY items."recordId"`
  );
}

/** The head record next to the last entry. */
const SELECT_HEAD =
  `SELECT head."sequence", head."timestamp", head."lastUlid", head."effectSequence", head."schemaVersion", ` +
  `(SELECT count(*) FROM (SELECT 1 FROM "ledger_head" LIMIT 2) AS heads) AS "heads", ` +
  `entry."id" AS "entryId", entry."timestamp" AS "entryTimestamp" FROM "ledger_head" AS head ` +
  `LEFT JOIN "ledger_entries" AS entry ON entry."sequence" = head."sequence" WHERE head."id" = 1`;

/** A table of counted rows. */
interface Counted {
  readonly table: string;
  readonly sequence: string;
  /** Columns with a counter per value. */
  readonly columns: readonly string[];
  readonly hasLists: boolean;
  /** Condition for rows, with the alias `live`, that are no longer counted, and still to be deleted. */
  readonly isLeftover: string;
  /** Returns the counters of its rows with these values. */
  readonly namesOf: (group: Group) => string[];
  readonly hasCounter: (name: string) => boolean;
}

const COUNTED_ENTRIES: Counted = {
  table: 'ledger_entries',
  sequence: 'sequence',
  columns: ENTRIES_COUNTED_BY,
  hasLists: false,
  isLeftover: 'FALSE',
  namesOf: (group) => countersOfEntry(group as unknown as StoredEntry),
  hasCounter: (name) => isByValue(ENTRY_COUNTER, ENTRIES_COUNTED_BY, name),
};

function countedRecords({ table, kind }: RecordCodec): Counted {
  const { counter, countedBy = [], listColumns = [], owner, subjectType } = kind;
  const columns = [...countedBy, ...listColumns];
  return {
    table,
    sequence: 'createdSequence',
    columns,
    hasLists: listColumns.length > 0,
    isLeftover:
      owner === undefined
        ? 'FALSE'
        : `EXISTS (SELECT 1 FROM "${LEFTOVERS}" AS gone WHERE gone."subjectType" = '${subjectType}' ` +
          `AND gone."ownerId" = live.${quoteName(owner.column)})`,
    namesOf: (group) => {
      const lists = Object.fromEntries(listColumns.map((name) => [name, textsIn(group[name] ?? null)]));
      return countersOf(kind, { ...group, ...lists } as unknown as GovernedRow);
    },
    hasCounter: (name) => name === counter || isByValue(counter, columns, name),
  };
}

/** True if the name is that of a counter of the values in one of the columns. */
function isByValue(counter: string, columns: readonly string[], name: string): boolean {
  return columns.some((column) => name.startsWith(counterName(counter, column, '')));
}

/** The texts in a JSON list. An altered column may hold anything. */
export function textsIn(text: SqlValue): string[] {
  try {
    const list: unknown = JSON.parse(String(text));
    return Array.isArray(list) ? list.filter((item) => typeof item === 'string') : [];
  } catch {
    return [];
  }
}

/** Rows of a chunk with the same values, and the last one's sequence, which may be anything in an altered row. */
interface Group extends Readonly<Record<string, SqlValue>> {
  readonly 'chunk.last': SqlValue;
  readonly 'chunk.counted': SqlValue;
}

async function* countedGroups(connection: SqlConnection, table: Counted, chunkRows: number): AsyncGenerator<Group[]> {
  const sql = groupsSql(table, table.hasLists ? Math.min(chunkRows, CHUNK_LISTS) : chunkRows);
  // Drivers round all larger sequences, so nothing can be looked up after such a row. The ledger has not counted it.
  for (let after = BEFORE_ALL; after <= Number.MAX_SAFE_INTEGER;) {
    const groups = await connection.all<Group>(sql, [after]);
    const ends = groups.flatMap((group) => group['chunk.last'] ?? []);
    if (ends.length === 0) return;
    yield groups;
    after = Math.max(...ends.map((end) => (typeof end === 'number' ? end : Infinity)));
  }
}

/** Selects the next rows after the sequence `$1`, grouped by the values in their columns. */
function groupsSql({ table, sequence, columns, isLeftover }: Counted, chunkRows: number): string {
  const place = quoteName(sequence);
  const values = columns.map((column) => `, ${quoteName(column)}`).join('');
  const groups = columns.length === 0 ? '' : ` GROUP BY ${columns.map(quoteName).join(', ')}`;
  return (
    `SELECT max("chunk.place") AS "chunk.last", sum("chunk.counts") AS "chunk.counted"${values} FROM ` +
    `(SELECT ${place} AS "chunk.place", CASE WHEN ${isLeftover} THEN 0 ELSE 1 END AS "chunk.counts"${values} ` +
    `FROM ${quoteName(table)} AS live WHERE ${place} > $1 ORDER BY ${place} LIMIT ${chunkRows}) AS chunk${groups}`
  );
}

interface StoredCounter {
  /** The name in a form that drivers do not alter. */
  readonly place: string;
  readonly name: string;
  /** May be anything, because a column of SQLite accepts values of any type. */
  readonly value: SqlValue;
  /** False if the name is stored as bytes, as SQLite allows. */
  readonly isText: boolean | number;
}

/** Most names in memory at once; more names are compared in several parts. */
const MAX_NAMES = 100_000;

/** True if a name belongs to the compared part. */
type IsInPart = (name: string) => boolean;

/** Compares names in as many parts as memory requires. @param rows chunks with one row for each name */
async function* inParts<Chunk>(
  rows: AsyncGenerator<readonly unknown[]>,
  compare: (isInPart: IsInPart) => AsyncGenerator<Chunk>,
): AsyncGenerator<Chunk> {
  let names = 0;
  for await (const chunk of rows) names += chunk.length;
  const parts = Math.floor(names / MAX_NAMES) + 1;
  for (let part = 0; part < parts; part += 1) yield* compare((name) => part === partOf(name, parts));
}

/** Spreads names evenly. */
function partOf(name: string, parts: number): number {
  let hash = 0;
  for (let index = 0; index < name.length; index += 1) hash = (hash * 31 + name.charCodeAt(index)) | 0;
  return Math.abs(hash) % parts;
}

/** Yields the chunks of statements that all read from one snapshot. */
async function* fromSnapshot<Chunk>(
  database: Database,
  read: (connection: SqlConnection) => AsyncGenerator<Chunk>,
): AsyncGenerator<Chunk> {
  const connection = await database.openReader();
  try {
    await connection.run(database.dialect.beginReading);
    yield* read(connection);
    await connection.commit();
  } finally {
    await connection.close();
  }
}

/** Most rows that one statement reads. */
const CHUNK = 5_000;

const SELECT =
  `SELECT "sum", "window", "key", "value" FROM "ledger_sums" WHERE ("sum", "window", "key") > ($1, $2, $3) ` +
  `ORDER BY "sum", "window", "key" LIMIT ${CHUNK}`;

/**
 * Yields, in chunks, the names of sums that differ from the entries from which they are derived. Sums move with the
 * entries, so everything is read from one snapshot.
 */
export function wrongSums(database: Database): AsyncGenerator<string[]> {
  return fromSnapshot(database, (connection) =>
    inParts(storedSums(connection), (isInPart) => wrongAmong(connection, isInPart)),
  );
}

async function* wrongAmong(connection: SqlConnection, isInPart: IsInPart): AsyncGenerator<string[]> {
  const expected = new UsedSums();
  for await (const amounts of takenAmounts(connection)) {
    for (const amount of amounts) if (isInPart(sumName(amount.key))) expected.add(amount);
    yield [];
  }
  const now = await ledgerTime(connection);
  for await (const rows of storedSums(connection)) {
    yield rows.flatMap(({ value, ...key }) => {
      const name = sumName(key);
      return !isInPart(name) || isPassedSum(key, now) || expected.take(name) === value ? [] : [name];
    });
  }
  yield [...expected.names];
}

interface StoredSumRow {
  readonly sum: string;
  readonly window: string;
  readonly key: string;
  readonly value: SqlValue;
}

function storedSums(connection: SqlConnection): AsyncGenerator<StoredSumRow[]> {
  return chunksOf(async (last) => {
    const { sum, window, key } = last ?? { sum: '', window: '', key: '' };
    // SQLite allows bytes, which sort after all texts: no text follows.
    return typeof sum === 'string' ? connection.all<StoredSumRow>(SELECT, [sum, window, key]) : [];
  });
}
