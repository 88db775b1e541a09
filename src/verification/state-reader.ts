import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import type { SqlValue, SqlConnection } from '../database/sql-connection';
import { liveRecord, type LiveRecord, type MissingRecord } from './live-record';
import { RecordCatalog } from '../ledger/records/record-catalog';
import type { RecordCodec } from '../ledger/records/record-codec';
import { rowLists } from '../ledger/reading/row-lists';
import {
  lastPlaceSql,
  liveExtentSql,
  liveRecordsSql,
  missingRecordsSql,
  removedAmongSql,
  SEALED_COLUMNS,
  statesSql,
  unknownKindsSql,
} from './state-queries';
import { arraysOfOne } from '../ledger/records/statements';

/** Most records of a chunk, and most bytes of their texts. */
const CHUNK_RECORDS = 200;
const CHUNK_BYTES = 1_000_000;
/** States can be long. */
const STATES_AT_ONCE = 20;

interface LiveExtent {
  readonly count: number;
  readonly last: SqlValue;
  readonly bytes: number;
}

interface MissingRow {
  readonly sequence: number;
  readonly subjectType: string;
  readonly subjectId: string;
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
    for await (const bounds of entryChunks(this.database.chain, upTo)) {
      yield await this.withOwners(await this.database.chain.all<MissingRow>(sql, bounds));
    }
  }

  /** In chunks, whether entries up to a sequence are about kinds of a module that is no longer loaded. */
  async *unknownKinds(upTo: number): AsyncGenerator<boolean> {
    const sql = unknownKindsSql(this.catalog.all);
    for await (const bounds of entryChunks(this.database.chain, upTo)) {
      const [found] = await this.database.chain.all<{ count: number }>(sql, bounds);
      yield (found?.count ?? 0) > 0;
    }
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
    const columns = [...codec.columns.map(({ name }) => name), ...SEALED_COLUMNS];
    const sql = liveRecordsSql(codec, ownerTable, dialect, isFirst);
    const lists = JSON.parse(await rowLists({ connection: chain, dialect, columns }, sql, bounds)) as SqlValue[][];
    return lists.map((values) => liveRecord(codec, values));
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

/** Most entries of a chunk: for queries that few of them satisfy. */
const CHUNK_ENTRIES = 1_000;
/** Where the next entries end, at most `$3` of those after `$1` and up to `$2`. */
const EXTENT_SQL =
  `SELECT max("sequence") AS "last" FROM ` +
  `(SELECT "sequence" FROM "ledger_entries" WHERE "sequence" > $1 AND "sequence" <= $2 ORDER BY "sequence" LIMIT $3) AS chunk`;

/**
 * Divides the entries up to a sequence into chunks: the sequence before the first of each chunk, and that of its last.
 */
export async function* entryChunks(
  chain: Pick<SqlConnection, 'all'>,
  upTo: number,
): AsyncGenerator<[after: number, last: number]> {
  for (let after = Number.MIN_SAFE_INTEGER; ;) {
    const [extent] = await chain.all<{ last: number | null }>(EXTENT_SQL, [after, upTo, CHUNK_ENTRIES]);
    const last = extent?.last ?? null;
    if (last === null) return;
    yield [after, last];
    after = last;
  }
}
