import { Injectable } from '@nestjs/common';
import { contentErased } from '../../core/errors/domain-error';
import { Database } from '../database/database';
import { quoted } from '../database/dialect';
import type { JsonObject } from '../../core/json/json-value';
import type { AnyRecordKind, GovernedRow, RecordKind } from '../record-kind';
import { saysStateSql } from '../chain/stored-entry';
import { RecordCatalog } from '../records/record-catalog';
import { chunksOf } from './chunks';
import { type Viewer, visibilityOf, visibleTo } from '../records/visibility';

const SELECT_STATE =
  `SELECT "sequence", "state", "stateHash", "erased" FROM "ledger_entries" WHERE "subjectId" = $1 AND "sequence" <= $2 AND "subjectType" = $3 ` +
  `AND ${saysStateSql()} ORDER BY "sequence" DESC LIMIT 1`;
const SELECT_LAST =
  `SELECT "sequence" FROM "ledger_entries" WHERE "timestamp" <= $1 ` +
  `ORDER BY "timestamp" DESC, "sequence" DESC LIMIT 1`;
const SELECT_ENTRY = `SELECT "timestamp", "details" FROM "ledger_entries" WHERE "sequence" = $1`;
/** Canonical JSON contains a text with quotation marks as a member alone: within a value they are escaped. */
const SELECT_LAST_BEFORE_OTHERS =
  `SELECT coalesce((SELECT "sequence" - 1 FROM "ledger_entries" WHERE "sequence" > $1 ` +
  `AND NOT ("timestamp" = $2 AND "details" LIKE $3) ORDER BY "sequence" LIMIT 1), ` +
  `(SELECT max("sequence") FROM "ledger_entries")) AS "sequence"`;

/** Records read at once. */
const CHUNK = 100;

interface StandRow {
  readonly sequence: number;
  readonly state: string | null;
  readonly stateHash: string | null;
  readonly erased: number | null;
}

interface PastRow {
  readonly createdSequence: number;
  readonly state: string | null;
}

/** Reads records as they were after an earlier entry, from the states that the entries keep. */
@Injectable()
export class PastRecords {
  /** @internal */
  constructor(
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
  ) {}

  /**
   * The record as it was after the entry with the sequence; undefined if it did not exist then. Columns that are not
   * hashed, such as `createdSequence`, are null: no answer shows them.
   */
  async find<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    id: string,
    sequence: number,
    viewer?: Viewer,
  ): Promise<Row | undefined> {
    const found = await this.stand(kind, id, sequence);
    return visibleTo(viewer, kind, found?.record as Row | undefined);
  }

  /** The same, with the sequence since which it has been in that state. */
  async stateAt<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    id: string,
    sequence: number,
  ): Promise<{ readonly record: Row; readonly since: number } | undefined> {
    visibilityOf(kind, undefined);
    return (await this.stand(kind, id, sequence)) as { readonly record: Row; readonly since: number } | undefined;
  }

  private stand(
    kind: AnyRecordKind,
    id: string,
    sequence: number,
  ): Promise<{ readonly record: GovernedRow; readonly since: number } | undefined> {
    return this.database.readAlone(async () => {
      const [entry] = await this.database.points.all<StandRow>(SELECT_STATE, [id, sequence, kind.subjectType]);
      if (entry !== undefined && entry.erased !== null && entry.stateHash !== null)
        throw contentErased(`the ${kind.subjectType} ${id}`, entry.erased);
      const record = this.rowOf(kind, entry?.state ?? null);
      return entry === undefined || record === undefined ? undefined : { record, since: entry.sequence };
    });
  }

  private rowOf(kind: AnyRecordKind, state: string | null): GovernedRow | undefined {
    return state === null ? undefined : this.catalog.codec(kind).decodeState(JSON.parse(state) as JsonObject);
  }

  /**
   * The records of a kind whose records are never removed, as they were after the entry with the sequence, oldest
   * first; each chunk is read when it is asked for.
   */
  async *chunks<Row extends GovernedRow>(kind: RecordKind<Row>, sequence: number): AsyncGenerator<readonly Row[]> {
    const state = `(${SELECT_STATE.replace('"sequence", "state", "stateHash", "erased"', '"state"').replace('$1', 'live."id"')})`;
    const sql =
      `SELECT live."createdSequence", ${state} AS "state" FROM ${quoted(this.catalog.codec(kind).table)} AS live ` +
      `WHERE live."createdSequence" > $1 AND live."createdSequence" <= $2 ORDER BY live."createdSequence" LIMIT ${CHUNK}`;
    const chunks = chunksOf<PastRow>((last) =>
      this.database.points.all(sql, [last?.createdSequence ?? 0, sequence, kind.subjectType]),
    );
    for await (const rows of chunks)
      yield rows.flatMap(({ state }) => (this.rowOf(kind, state) as Row | undefined) ?? []);
  }

  /** The states in which entries with one of the actions left records, after one sequence and up to another, in order. */
  async *changes<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    actions: readonly string[],
    { after, upTo }: { readonly after: number; readonly upTo: number },
  ): AsyncGenerator<Row> {
    const names = actions.map((_, index) => `$${index + 3}`).join(', ');
    const sql =
      `SELECT "sequence", "state" FROM "ledger_entries" WHERE "action" IN (${names}) ` +
      `AND "sequence" > $1 AND "sequence" <= $2 ORDER BY "sequence" LIMIT ${CHUNK}`;
    const chunks = chunksOf<StandRow>((last) =>
      this.database.points.all(sql, [last?.sequence ?? after, upTo, ...actions]),
    );
    for await (const rows of chunks)
      yield* rows.flatMap(({ state }) => (this.rowOf(kind, state) as Row | undefined) ?? []);
  }

  /** Sequence of the last entry at or before a time, which is ISO 8601 in UTC with milliseconds; 0 where there is none. */
  async lastAt(time: string): Promise<number> {
    const [entry] = await this.database.points.all<{ sequence: number }>(SELECT_LAST, [time]);
    return entry?.sequence ?? 0;
  }

  /**
   * The time of the entry, and the sequence of the last of the adjacent entries that have the same time, and in their
   * details the same text under the name; the sequence itself where its entry has none.
   */
  async lastWithSame(name: string, sequence: number): Promise<{ readonly sequence: number; readonly time: string }> {
    const { points } = this.database;
    const [entry] = await points.all<{ timestamp: string; details: string }>(SELECT_ENTRY, [sequence]);
    if (entry === undefined) throw new Error(`There is no entry ${sequence}.`);
    const { timestamp: time } = entry;
    const text = (JSON.parse(entry.details) as JsonObject)[name];
    if (typeof text !== 'string') return { sequence, time };
    const member = `%"${name}":${JSON.stringify(text)}%`;
    const [last] = await points.all<{ sequence: number }>(SELECT_LAST_BEFORE_OTHERS, [sequence, time, member]);
    return { sequence: last?.sequence ?? sequence, time };
  }
}
