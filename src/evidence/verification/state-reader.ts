import { Injectable } from '@nestjs/common';
import { Database } from '../../ledger/database/database';
import { type Dialect, quoteName } from '../../ledger/database/dialect';
import { saysStateSql } from '../../ledger/chain/stored-entry';
import {
  afterPlaceSql,
  arraysOfOne,
  IS_LISTED_SEQUENCE,
  IS_TEXT_ITEM,
  isStoredText,
  LIST_ITEMS,
} from '../../ledger/records/statements';
import { LEFTOVERS } from '../../ledger/schema/ledger-tables';
import type { SqlValue } from '../../ledger/database/sql-connection';
import type { AnyRecordKind } from '../../ledger/kinds/record-kind';
import { RecordCatalog } from '../../ledger/records/record-catalog';
import type { RecordCodec } from '../../ledger/records/record-codec';
import { type ChunkExtent, entryRanges, fittingChunk } from '../../ledger/reading/chunks';
import { rowLists } from '../../ledger/reading/row-lists';

/** Most records of a chunk. */
const CHUNK_RECORDS = 200;
/** Most states read at once, because they can be long. */
const STATES_AT_ONCE = 20;

interface MissingRow {
  readonly sequence: number;
  readonly subjectType: string;
  readonly subjectId: string;
}

/** Columns of a record's last entry. */
const OF_LAST = [
  ...(['sequence', 'subjectType', 'v', 'stateSalt', 'stateHash', 'timestamp', 'entityId'] as const),
  ...(['agentId', 'actorType', 'actorId'] as const),
];
/** Columns of the ledger that are read with each live record: those of its last entry, and the following. */
const ENTRY_COLUMNS = [
  ...OF_LAST,
  /** Sequence of the first entry about the record; null if there is none. */
  'firstSequence',
  /** Details of the last entry, if the kind needs them. */
  'details',
  /** 1 if the last entry about the owner removed it. */
  'ownerRemoved',
  /** 1 if the record was removed with its owner, and is still to be deleted. */
  'leftovers',
  /** 1 if the columns that repeat another record or the sequence of an entry have the same values as these. */
  'repeated',
  /** Items of the record's lists by which filters find it, each with the sequence at which it is listed. */
  'items',
] as const;
type EntryColumn = (typeof ENTRY_COLUMNS)[number];

/** A record as stored in its table, with the ledger's data about it from the same snapshot. */
export interface LiveRecord {
  readonly codec: RecordCodec;
  /** Values in the order of the codec's columns. */
  readonly values: readonly SqlValue[];
  readonly fromEntries: Readonly<Record<EntryColumn, SqlValue>>;
  readonly items: readonly (readonly SqlValue[])[];
}

/** A record that does not exist although its last entry left a state. */
interface MissingRecord {
  readonly subjectType: string;
  readonly id: string;
  /** False if it is of a module that is no longer loaded, so that its table is unknown. */
  readonly isOfKnownKind: boolean;
  /** True if it was removed with its owner. */
  readonly wentWithOwner: boolean;
}

/**
 * Reads the live records of every kind with the ledger's data about them, in chunks. One statement reads each chunk
 * from a single snapshot, in which even records that are being changed match their entries.
 */
@Injectable()
export class StateReader {
  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
  ) {}

  get kinds(): Iterable<RecordCodec> {
    return this.catalog.all;
  }

  /** Yields the records of a kind that exist when it begins. */
  async *live(codec: RecordCodec): AsyncGenerator<LiveRecord[]> {
    const { chain, dialect } = this.database;
    const [end] = await chain.all<{ last: SqlValue }>(lastPlaceSql(codec, dialect));
    const upTo = end?.last ?? null;
    const sql = liveExtentSql(codec, dialect);
    for (let after: SqlValue = null; upTo !== null;) {
      const extent: ChunkExtent<SqlValue> | null = await fittingChunk(chain, sql, [after, upTo], CHUNK_RECORDS);
      if (extent === null) return;
      yield await this.liveChunk(codec, [after, upTo, extent.count]);
      after = extent.last;
    }
  }

  /** Yields records that do not exist although the entries up to a sequence left a state. */
  async *missing(upTo: number): AsyncGenerator<MissingRecord[]> {
    const sql = missingRecordsSql(this.catalog.all);
    for await (const bounds of entryRanges(this.database.chain, { upTo })) {
      const rows = await this.database.chain.all<MissingRow>(sql, bounds);
      for (let start = 0; start < rows.length; start += STATES_AT_ONCE)
        yield await this.withOwners(rows.slice(start, start + STATES_AT_ONCE));
    }
  }

  private async liveChunk(codec: RecordCodec, bounds: readonly SqlValue[]): Promise<LiveRecord[]> {
    const { chain, dialect } = this.database;
    const { owner } = codec.kind;
    const ownerTable = owner === undefined ? null : this.catalog.codec(owner.kind).table;
    const columns = [...codec.columns.map(({ name }) => name), ...ENTRY_COLUMNS.map(entryColumnName)];
    const sql = liveRecordsSql(codec, ownerTable, dialect);
    const lists = JSON.parse(await rowLists({ connection: chain, dialect, columns }, sql, bounds)) as SqlValue[][];
    const width = codec.columns.length;
    return lists.map((row) => {
      const fromEntries = Object.fromEntries(ENTRY_COLUMNS.map((name, index) => [name, row[width + index] ?? null]));
      return {
        codec,
        values: row.slice(0, width),
        fromEntries: fromEntries as LiveRecord['fromEntries'],
        items: itemsIn(fromEntries['items'] ?? null),
      };
    });
  }

  private async withOwners(rows: readonly MissingRow[]): Promise<MissingRecord[]> {
    const { chain, dialect } = this.database;
    const kinds = new Map(this.catalog.all.map(({ kind }) => [kind.subjectType, kind]));
    const owned = rows.filter(({ subjectType }) => kinds.get(subjectType)?.owner !== undefined);
    const sequences = arraysOfOne(owned.map(({ sequence }) => sequence));
    const existing =
      owned.length === 0 ? [] : await chain.all<{ sequence: number; state: unknown }>(statesSql(dialect), [sequences]);
    const states = new Map(existing.map(({ sequence, state }) => [sequence, state]));
    const records = rows.map(({ sequence, subjectType, subjectId: id }) => {
      const kind = kinds.get(subjectType);
      const ownerId = ownerIn(states.get(sequence), kind?.owner?.column);
      return { subjectType, id, isOfKnownKind: kind !== undefined, ownerId };
    });
    const ownerIds = arraysOfOne(records.flatMap(({ ownerId }) => ownerId ?? []));
    const removedOwners =
      owned.length === 0 ? [] : await chain.all<{ id: string }>(removedAmongSql(dialect), [ownerIds]);
    const removed = new Set<string | null>(removedOwners.map(({ id }) => id));
    return records.map(({ ownerId, ...record }) => ({ ...record, wentWithOwner: removed.has(ownerId) }));
  }
}

/** Returns the id of the owner; null if an altered state has none. */
function ownerIn(state: unknown, column: string | undefined): string | null {
  if (typeof state !== 'string' || column === undefined) return null;
  try {
    const owner = (JSON.parse(state) as Readonly<Record<string, unknown>> | null)?.[column];
    return typeof owner === 'string' ? owner : null;
  } catch {
    return null;
  }
}

/** Returns the items; unreadable ones are replaced by an item that no record has. */
function itemsIn(text: SqlValue): SqlValue[][] {
  if (text === null) return [];
  return isStoredText(text) ? (JSON.parse(text) as SqlValue[][]) : [[null]];
}

/** Returns the name of a ledger column in the result; no column of a record has such a name. */
function entryColumnName(name: EntryColumn): string {
  return `ledger.${name}`;
}

/** SQL for the last id of a kind, as a position. */
export function lastPlaceSql({ table }: RecordCodec, dialect: Dialect): string {
  return `SELECT ${dialect.position('max("id")')} AS "last" FROM ${quoteName(table)}`;
}

/**
 * SQL for a range of positions: `$1` precedes the first record, null for all; `$2` is the last one; `$3` is the most
 * rows.
 */
function bounds(dialect: Dialect): string {
  return `WHERE ${afterPlaceSql('live."id"', dialect)} AND live."id" <= ${dialect.placeAt('$2')} ORDER BY live."id" LIMIT $3`;
}

/** SQL for the number of following rows, their end, and their size in bytes. */
function liveExtentSql({ table, columns }: RecordCodec, dialect: Dialect): string {
  const sizes = columns
    .filter(({ type }) => type !== 'integer')
    .map(({ name }) => `COALESCE(octet_length(live.${quoteName(name)}), 0)`);
  return (
    `SELECT count(*) AS "count", ${dialect.position('max("id")')} AS "last", sum("size") AS "bytes" FROM ` +
    `(SELECT live."id", ${sizes.join(' + ')} AS "size" FROM ${quoteName(table)} AS live ${bounds(dialect)}) AS chunk`
  );
}

/** SQL for list items. An item that JSON cannot represent becomes null, which no record lists. */
const READABLE_ITEMS =
  `SELECT CASE WHEN ${IS_TEXT_ITEM} THEN "item" END AS "item", ` +
  `CASE WHEN ${IS_LISTED_SEQUENCE} THEN "createdSequence" END AS "createdSequence" FROM ${quoteName(LIST_ITEMS)}`;

/** SQL for the sequence of the last entry that holds a state of a record. */
function lastAbout(id: string): string {
  return `SELECT max("sequence") FROM "ledger_entries" WHERE "subjectId" = ${id} AND ${saysStateSql()}`;
}

/** SQL for live rows, each with the ledger's data about it, from one snapshot. */
export function liveRecordsSql(
  { kind, table, columns }: RecordCodec,
  ownerTable: string | null,
  dialect: Dialect,
): string {
  const own = columns.map(({ name }) => `live.${quoteName(name)}`);
  const ownerId = `live.${quoteName(kind.owner?.column ?? '')}`;
  const ownerRemoved =
    `CASE WHEN EXISTS (SELECT 1 FROM ${quoteName(ownerTable ?? '')} AS owner WHERE owner."id" = ${ownerId}) THEN 0 ` +
    `ELSE (SELECT count(*) FROM "ledger_entries" AS gone WHERE gone."sequence" = (${lastAbout(ownerId)}) AND gone."state" IS NULL) END`;
  const leftovers = `(SELECT count(*) FROM "${LEFTOVERS}" AS gone WHERE gone."subjectType" = '${kind.subjectType}' AND gone."ownerId" = ${ownerId})`;
  const items = `(SELECT ${dialect.jsonRows(['item', 'createdSequence'])} FROM (${READABLE_ITEMS} WHERE "recordId" = live."id") AS items)`;
  const repeated = repetitions(kind);
  const expressions: Readonly<Partial<Record<EntryColumn, string>>> = {
    firstSequence: `(SELECT min("sequence") FROM "ledger_entries" WHERE "subjectId" = live."id")`,
    ...(kind.isSaidInDetails !== true && { details: 'NULL' }),
    ownerRemoved: ownerTable === null ? '0' : ownerRemoved,
    leftovers: ownerTable === null ? '0' : leftovers,
    repeated: repeated.length === 0 ? '1' : `CASE WHEN ${repeated.join(' AND ')} THEN 1 ELSE 0 END`,
    items: kind.listColumns === undefined ? 'NULL' : items,
  };
  const sealed = ENTRY_COLUMNS.map(
    (name) => `${expressions[name] ?? `last.${quoteName(name)}`} AS ${quoteName(entryColumnName(name))}`,
  );
  return (
    `SELECT ${[...own, ...sealed].join(', ')} FROM ${quoteName(table)} AS live ` +
    `LEFT JOIN "ledger_entries" AS last ON last."sequence" = (${lastAbout('live."id"')}) ${bounds(dialect)}`
  );
}

/** SQL conditions for columns that repeat what is stored elsewhere. */
function repetitions({ repeats, entrySequences = {} }: AnyRecordKind): string[] {
  const ofRecord = repeats?.columns.map(
    (name) =>
      `live.${quoteName(name)} IS NOT DISTINCT FROM (SELECT own.${quoteName(name)} FROM ${quoteName(repeats.table)} AS own ` +
      `WHERE own."id" = live.${quoteName(repeats.by)})`,
  );
  // With the action in WHERE, PostgreSQL may read all entries with that action, in order of their sequences.
  const ofEntries = Object.entries(entrySequences).map(
    ([name, action]) =>
      `live.${quoteName(name)} IS NOT DISTINCT FROM (SELECT max(CASE WHEN "action" = '${action}' THEN "sequence" END) ` +
      `FROM "ledger_entries" WHERE "subjectId" = live."id")`,
  );
  return [...(ofRecord ?? []), ...ofEntries];
}

/**
 * SQL for subjects whose last entry is after `$1`, up to `$2`, and left a state, but which have no record, or an
 * unknown kind.
 */
export function missingRecordsSql(codecs: readonly RecordCodec[]): string {
  const isThere = codecs.map(
    ({ kind, table }) =>
      `(entry."subjectType" = '${kind.subjectType}' AND EXISTS ` +
      `(SELECT 1 FROM ${quoteName(table)} AS live WHERE live."id" = entry."subjectId"))`,
  );
  return (
    `SELECT entry."sequence", entry."subjectType", entry."subjectId" FROM "ledger_entries" AS entry ` +
    `WHERE entry."sequence" > $1 AND entry."sequence" <= $2 AND entry."state" IS NOT NULL ` +
    `AND NOT EXISTS (SELECT 1 FROM "ledger_entries" AS later ` +
    `WHERE later."subjectId" = entry."subjectId" AND later."sequence" > entry."sequence" AND ${saysStateSql('later.')}) ` +
    `AND NOT (${isThere.join(' OR ')}) ORDER BY entry."sequence"`
  );
}

/**
 * SQL that selects the removed ones among the ids in a JSON array of one-element arrays: their last entries left no
 * state.
 */
export function removedAmongSql(dialect: Dialect): string {
  const id = dialect.jsonAt(0, { name: 'id', type: 'text' });
  return (
    `SELECT last."subjectId" AS "id" FROM ${dialect.jsonElements('$1')} JOIN "ledger_entries" AS last ` +
    `ON last."sequence" = (${lastAbout(id)}) WHERE last."state" IS NULL`
  );
}

/** SQL for the states in the entries with the sequences in a JSON array of one-element arrays. */
function statesSql(dialect: Dialect): string {
  const sequence = dialect.jsonAt(0, { name: 'sequence', type: 'integer' });
  return (
    `SELECT "sequence", "state" FROM "ledger_entries" ` +
    `WHERE "sequence" IN (SELECT ${sequence} FROM ${dialect.jsonElements('$1')})`
  );
}
