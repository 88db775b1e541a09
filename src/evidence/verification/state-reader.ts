import { Injectable } from '@nestjs/common';
import { Database } from '../../ledger/database/database';
import { type Dialect, quoted } from '../../ledger/database/dialect';
import { saysStateSql } from '../../ledger/chain/entry-columns';
import {
  arraysOfOne,
  IS_LISTED_SEQUENCE,
  IS_TEXT_ITEM,
  isStoredText,
  LIST_ITEMS,
} from '../../ledger/records/statements';
import { LEFTOVERS } from '../../ledger/schema/ledger-tables';
import type { SqlValue } from '../../ledger/database/sql-connection';
import { RecordCatalog } from '../../ledger/records/record-catalog';
import type { RecordCodec } from '../../ledger/records/record-codec';
import { chunksOf, entryRanges } from '../../ledger/reading/chunks';
import { rowLists } from '../../ledger/reading/row-lists';

/** Most records of a chunk, and most bytes of their texts. */
const CHUNK_RECORDS = 200;
const CHUNK_BYTES = 1_000_000;
/** States can be long. */
const STATES_AT_ONCE = 20;
/** Records of which only a few columns are compared. */
const COMPARED_AT_ONCE = 5_000;
/** Before the first sequence that drivers do not round. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER - 1;

interface LiveExtent {
  readonly count: number;
  readonly last: SqlValue;
  readonly bytes: number;
}

interface Repetition {
  readonly id: SqlValue;
  readonly place: number;
  readonly differs: number;
}

interface MissingRow {
  readonly sequence: number;
  readonly subjectType: string;
  readonly subjectId: string;
}

/** Columns of a record's last entry. */
const OF_LAST = [
  ...(['subjectType', 'v', 'stateSalt', 'stateHash', 'timestamp', 'entityId'] as const),
  ...(['agentId', 'actorType', 'actorId'] as const),
];
/**
 * What is read from the ledger next to each live record, besides these: the entry that created it, or null; the details
 * of the last one, if the kind looks at them; whether the record it belongs to exists; whether that was removed, and it is
 * still to be deleted; and what filters find it by: the items of its lists, each with the sequence it is listed at.
 */
const SAID = [...OF_LAST, 'firstSequence', 'details', 'owners', 'leftovers', 'items'] as const;
type Said = (typeof SAID)[number];

/** A record as stored in its table, next to what the ledger says about it in the same snapshot. */
export interface LiveRecord {
  readonly codec: RecordCodec;
  /** In the order of the codec's columns. */
  readonly values: readonly SqlValue[];
  readonly said: Readonly<Record<Said, SqlValue>>;
  readonly items: readonly (readonly SqlValue[])[];
}

/** A record that does not exist although its last entry left a state. */
export interface MissingRecord {
  readonly codec: RecordCodec;
  readonly id: string;
  /** The id of its owner, with which it may have been removed; null if it is not known. */
  readonly ownerId: string | null;
}

/**
 * Reads the live records of every kind next to what the ledger says about them, in chunks. Each chunk is read by one
 * statement, so it shows a single snapshot, in which even records that are being changed agree with their entries.
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

  /** The records of a kind that exist when it begins. */
  async *live(codec: RecordCodec): AsyncGenerator<LiveRecord[]> {
    const { chain, dialect } = this.database;
    const [end] = await chain.all<{ last: SqlValue }>(lastPlaceSql(codec, dialect));
    const upTo = end?.last ?? null;
    for (let after: SqlValue = null, isFirst = true; upTo !== null; isFirst = false) {
      const extent = await this.liveExtent(codec, isFirst, after, upTo);
      if (extent === null) return;
      yield await this.liveChunk(codec, isFirst, [after, upTo, extent.count]);
      after = extent.last;
    }
  }

  /**
   * Records that do not exist although the entries up to a sequence left a state; claims and the like with their
   * owner's id.
   */
  async *missing(upTo: number): AsyncGenerator<MissingRecord[]> {
    const sql = missingRecordsSql(this.catalog.all);
    for await (const bounds of entryRanges(this.database.chain, { upTo })) {
      yield await this.withOwners(await this.database.chain.all<MissingRow>(sql, bounds));
    }
  }

  /** In chunks, whether entries up to a sequence are about kinds of a module that is no longer loaded. */
  async *unknownKinds(upTo: number): AsyncGenerator<boolean> {
    const sql = unknownKindsSql(this.catalog.all);
    for await (const bounds of entryRanges(this.database.chain, { upTo })) {
      const [found] = await this.database.chain.all<{ count: number }>(sql, bounds);
      yield (found?.count ?? 0) > 0;
    }
  }

  /** In chunks, the ids of records of a kind whose columns differ from those that they repeat. */
  async *wrongRepetitions({ table, kind: { repeats } }: RecordCodec): AsyncGenerator<string[]> {
    if (repeats === undefined) return;
    const differences = repeats.columns.map((name) => `live.${quoted(name)} IS DISTINCT FROM own.${quoted(name)}`);
    const sql =
      `SELECT live."id", live."createdSequence" AS "place", CASE WHEN ${differences.join(' OR ')} THEN 1 ELSE 0 END AS "differs" ` +
      `FROM ${quoted(table)} AS live LEFT JOIN ${quoted(repeats.table)} AS own ON own."id" = live.${quoted(repeats.by)} ` +
      `WHERE live."createdSequence" > $1 ORDER BY live."createdSequence" LIMIT ${COMPARED_AT_ONCE}`;
    const chunks = chunksOf<Repetition>((last) => this.database.chain.all(sql, [last?.place ?? BEFORE_ALL]));
    for await (const rows of chunks) yield rows.filter(({ differs }) => differs > 0).map(({ id }) => String(id));
  }

  /** Which of these records were removed by an entry. */
  async removedAmong(ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    const sql = removedAmongSql(this.database.dialect);
    const rows = await this.database.chain.all<{ id: string }>(sql, [arraysOfOne(ids)]);
    return new Set(rows.map(({ id }) => id));
  }

  /** As many as fit in memory; null: there are none. */
  private async liveExtent(
    codec: RecordCodec,
    isFirst: boolean,
    after: SqlValue,
    upTo: SqlValue,
  ): Promise<LiveExtent | null> {
    const { chain, dialect } = this.database;
    for (let limit = CHUNK_RECORDS; ; limit = Math.ceil(limit / 2)) {
      const [extent] = await chain.all<LiveExtent>(liveExtentSql(codec, dialect, isFirst), [after, upTo, limit]);
      if (extent === undefined || extent.count === 0) return null;
      if (extent.bytes <= CHUNK_BYTES || extent.count === 1) return extent;
    }
  }

  private async liveChunk(codec: RecordCodec, isFirst: boolean, bounds: readonly SqlValue[]): Promise<LiveRecord[]> {
    const { chain, dialect } = this.database;
    const { owner } = codec.kind;
    const ownerTable = owner === undefined ? null : this.catalog.codec(owner.kind).table;
    const columns = [...codec.columns.map(({ name }) => name), ...SAID.map(saidAs)];
    const sql = liveRecordsSql(codec, ownerTable, dialect, isFirst);
    const lists = JSON.parse(await rowLists({ connection: chain, dialect, columns }, sql, bounds)) as SqlValue[][];
    const width = codec.columns.length;
    return lists.map((row) => {
      const said = Object.fromEntries(SAID.map((name, index) => [name, row[width + index] ?? null]));
      return {
        codec,
        values: row.slice(0, width),
        said: said as LiveRecord['said'],
        items: itemsIn(said['items'] ?? null),
      };
    });
  }

  private async withOwners(rows: readonly MissingRow[]): Promise<MissingRecord[]> {
    const codecs = new Map([...this.catalog.all].map((codec) => [codec.kind.subjectType, codec]));
    const missing: MissingRecord[] = [];
    for (let start = 0; start < rows.length; start += STATES_AT_ONCE) {
      const group = rows.slice(start, start + STATES_AT_ONCE);
      const states = await this.states(group.filter(({ subjectType }) => codecs.get(subjectType)?.kind.owner));
      for (const { sequence, subjectType, subjectId } of group) {
        const codec = codecs.get(subjectType);
        if (codec === undefined) continue;
        missing.push({ codec, id: subjectId, ownerId: ownerIn(states.get(sequence), codec.kind.owner?.column) });
      }
    }
    return missing;
  }

  private async states(rows: readonly MissingRow[]): Promise<ReadonlyMap<number, unknown>> {
    if (rows.length === 0) return new Map();
    const sequences = arraysOfOne(rows.map(({ sequence }) => sequence));
    const found = await this.database.chain.all<{ sequence: number; state: unknown }>(
      statesSql(this.database.dialect),
      [sequences],
    );
    return new Map(found.map(({ sequence, state }) => [sequence, state]));
  }
}

/** An altered state may be anything; then its owner is not known. */
function ownerIn(state: unknown, column: string | undefined): string | null {
  if (typeof state !== 'string' || column === undefined) return null;
  try {
    const owner = (JSON.parse(state) as Readonly<Record<string, unknown>> | null)?.[column];
    return typeof owner === 'string' ? owner : null;
  } catch {
    return null;
  }
}

/** Unreadable items are represented by one that no record has. */
function itemsIn(text: SqlValue): SqlValue[][] {
  if (text === null) return [];
  return isStoredText(text) ? (JSON.parse(text) as SqlValue[][]) : [[null]];
}

/** No column of a record has such a name. */
function saidAs(name: Said): string {
  return `ledger.${name}`;
}

/** The last id of a kind, as a position. */
export function lastPlaceSql({ table }: RecordCodec, dialect: Dialect): string {
  return `SELECT ${dialect.place('max("id")')} AS "last" FROM ${quoted(table)}`;
}

/**
 * `$1`: the position before the first record (`isFirst`: null, before all); `$2`: that of the last one; `$3`: most
 * rows.
 */
function bounds(dialect: Dialect, isFirst: boolean): string {
  const [after, upTo] = [`COALESCE(${dialect.placeAt('$1')}, '')`, dialect.placeAt('$2')];
  return `WHERE live."id" ${isFirst ? '>=' : '>'} ${after} AND live."id" <= ${upTo} ORDER BY live."id" LIMIT $3`;
}

/** How many rows follow, where they end, and their size in bytes. */
function liveExtentSql({ table, columns }: RecordCodec, dialect: Dialect, isFirst: boolean): string {
  const sizes = columns
    .filter(({ type }) => type !== 'integer')
    .map(({ name }) => `COALESCE(octet_length(live.${quoted(name)}), 0)`);
  return (
    `SELECT count(*) AS "count", ${dialect.place('max("id")')} AS "last", sum("size") AS "bytes" FROM ` +
    `(SELECT live."id", ${sizes.join(' + ')} AS "size" FROM ${quoted(table)} AS live ${bounds(dialect, isFirst)}) AS chunk`
  );
}

/** Null, which no item is, replaces what cannot be written as JSON. */
const READABLE_ITEMS =
  `SELECT CASE WHEN ${IS_TEXT_ITEM} THEN "item" END AS "item", ` +
  `CASE WHEN ${IS_LISTED_SEQUENCE} THEN "createdSequence" END AS "createdSequence" FROM ${quoted(LIST_ITEMS)}`;

/** Live rows, each with what the ledger says about it, from one snapshot. */
export function liveRecordsSql(
  { kind, table, columns }: RecordCodec,
  ownerTable: string | null,
  dialect: Dialect,
  isFirst: boolean,
): string {
  const own = columns.map(({ name }) => `live.${quoted(name)}`);
  const owners = `(SELECT count(*) FROM ${quoted(ownerTable ?? '')} AS owner WHERE owner."id" = live.${quoted(kind.owner?.column ?? '')})`;
  const leftovers = `(SELECT count(*) FROM "${LEFTOVERS}" AS gone WHERE gone."subjectType" = '${kind.subjectType}' AND gone."ownerId" = live.${quoted(kind.owner?.column ?? '')})`;
  const items = `(SELECT ${dialect.jsonRows(['item', 'createdSequence'])} FROM (${READABLE_ITEMS} WHERE "recordId" = live."id") AS items)`;
  const said: Readonly<Partial<Record<Said, string>>> = {
    firstSequence: `(SELECT min("sequence") FROM "ledger_entries" WHERE "subjectId" = live."id")`,
    ...(kind.isSaidInDetails !== true && { details: 'NULL' }),
    owners: ownerTable === null ? '1' : owners,
    leftovers: ownerTable === null ? '0' : leftovers,
    items: kind.listColumns === undefined ? 'NULL' : items,
  };
  const sealed = SAID.map((name) => `${said[name] ?? `last.${quoted(name)}`} AS ${quoted(saidAs(name))}`);
  return (
    `SELECT ${[...own, ...sealed].join(', ')} FROM ${quoted(table)} AS live ` +
    `LEFT JOIN "ledger_entries" AS last ON last."sequence" = ` +
    `(SELECT max("sequence") FROM "ledger_entries" WHERE "subjectId" = live."id" AND ${saysStateSql()}) ${bounds(dialect, isFirst)}`
  );
}

/**
 * Subjects whose last entry is after `$1`, up to `$2`, and left a state, but which have no record. Unknown kinds are
 * ignored.
 */
export function missingRecordsSql(codecs: Iterable<RecordCodec>): string {
  const isGone = [...codecs].map(
    ({ kind, table }) =>
      `(entry."subjectType" = '${kind.subjectType}' AND NOT EXISTS ` +
      `(SELECT 1 FROM ${quoted(table)} AS live WHERE live."id" = entry."subjectId"))`,
  );
  return (
    `SELECT entry."sequence", entry."subjectType", entry."subjectId" FROM "ledger_entries" AS entry ` +
    `WHERE entry."sequence" > $1 AND entry."sequence" <= $2 AND entry."state" IS NOT NULL ` +
    `AND NOT EXISTS (SELECT 1 FROM "ledger_entries" AS later ` +
    `WHERE later."subjectId" = entry."subjectId" AND later."sequence" > entry."sequence" AND ${saysStateSql('later.')}) ` +
    `AND (${isGone.join(' OR ')}) ORDER BY entry."sequence"`
  );
}

/** Number of entries after `$1`, up to `$2`, about a kind that is no longer known. */
function unknownKindsSql(codecs: Iterable<RecordCodec>): string {
  const known = [...codecs].map(({ kind }) => `'${kind.subjectType}'`).join(', ');
  return (
    `SELECT count(*) AS "count" FROM "ledger_entries" ` +
    `WHERE "sequence" > $1 AND "sequence" <= $2 AND "subjectType" NOT IN (${known}) AND ${saysStateSql()}`
  );
}

/** Which of the ids in a JSON array of one-element arrays were removed, according to their last entries. */
export function removedAmongSql(dialect: Dialect): string {
  const id = dialect.jsonAt(0, { name: 'id', type: 'text' });
  return (
    `SELECT last."subjectId" AS "id" FROM ${dialect.jsonElements('$1')} JOIN "ledger_entries" AS last ` +
    `ON last."sequence" = (SELECT max("sequence") FROM "ledger_entries" WHERE "subjectId" = ${id} AND ${saysStateSql()}) ` +
    `WHERE last."state" IS NULL`
  );
}

/** The states stored by the entries with the sequences in a JSON array of one-element arrays. */
function statesSql(dialect: Dialect): string {
  const sequence = dialect.jsonAt(0, { name: 'sequence', type: 'integer' });
  return (
    `SELECT "sequence", "state" FROM "ledger_entries" ` +
    `WHERE "sequence" IN (SELECT ${sequence} FROM ${dialect.jsonElements('$1')})`
  );
}
