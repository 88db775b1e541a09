import { Injectable } from '@nestjs/common';
import { contentErased, invalidField } from '../core/errors/domain-error';
import type { JsonObject } from '../core/json/json-value';
import { saysStateSql } from './chain/stored-entry';
import { Database } from './database/database';
import { quoteName } from './database/dialect';
import { LedgerService } from './ledger.service';
import { chunksOf } from './reading/chunks';
import { CounterReader } from './reading/counter-reader';
import { RecordReader } from './reading/record-reader';
import type { ColumnOf, GovernedRow, RecordKind } from './kinds/record-kind';
import { RecordCatalog } from './records/record-catalog';
import { type Viewer, visibleRows, visibleTo } from './records/visibility';

const SELECT_STATE =
  `SELECT "sequence", "state", "stateHash", "erased" FROM "ledger_entries" WHERE "subjectId" = $1 AND "sequence" <= $2 AND "subjectType" = $3 ` +
  `AND ${saysStateSql()} ORDER BY "sequence" DESC LIMIT 1`;
const SELECT_LAST =
  `SELECT "sequence" FROM "ledger_entries" WHERE "timestamp" <= $1 ` +
  `ORDER BY "timestamp" DESC, "sequence" DESC LIMIT 1`;

/** Most records read at once. */
const CHUNK = 100;

interface StateRow {
  readonly sequence: number;
  readonly state: string | null;
  readonly stateHash: string | null;
  readonly erased: number | null;
}

/** A past or current state of a record, and the sequence at which it began. */
interface RecordState<Row> {
  readonly record: Row;
  readonly since: number;
}

/** Moment after the entry with this sequence, or at this time (ISO 8601 in UTC with milliseconds). */
export type Moment = number | string;

/** Reads records as they are now or, from the states in entries, as they were at a moment. */
@Injectable()
export class RecordHistory {
  constructor(
    private readonly ledger: LedgerService,
    private readonly records: RecordReader,
    private readonly counters: CounterReader,
    private readonly database: Database,
    private readonly catalog: RecordCatalog,
  ) {}

  /** Time that the next entry would have, in ISO 8601. */
  get now(): string {
    return this.ledger.now;
  }

  /** @param asOf moment; undefined for now @throws VALIDATION_ERROR for a moment in the future */
  find<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    id: string,
    asOf: Moment | undefined,
    viewer?: Viewer,
  ): Promise<Row | undefined> {
    // Most reads are of now, so this path creates no additional promise.
    if (asOf === undefined) return this.records.find(kind, id, viewer);
    return this.sequenceAt(asOf).then((sequence) => this.findAfter(kind, id, sequence, viewer));
  }

  /**
   * Finds a record by a unique key, for records that everyone of a team, or of none, may see. Such keys never change,
   * so the current record has the id. @throws VALIDATION_ERROR for a moment in the future
   */
  async findBy<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    key: Readonly<Partial<Record<ColumnOf<Row>, string>>>,
    asOf: Moment | undefined,
    viewer?: Viewer,
  ): Promise<Row | undefined> {
    const sequence = asOf === undefined ? undefined : await this.sequenceAt(asOf);
    const anyRecord = await this.records.findBy(kind, key);
    const record = await visibleTo(viewer, kind, anyRecord, (other, id) => this.records.find(other, id));
    return record === undefined || sequence === undefined ? record : this.findAfter(kind, record.id, sequence);
  }

  /**
   * Returns the record as it was after the entry with the sequence; undefined if it did not exist then. Columns that
   * are not hashed, such as `createdSequence`, are null; no response shows them.
   */
  async findAfter<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    id: string,
    sequence: number,
    viewer?: Viewer,
  ): Promise<Row | undefined> {
    return (await this.stateAt(kind, id, sequence, viewer))?.record;
  }

  /** Returns the record as it was, and the sequence at which that state began. */
  async stateAt<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    id: string,
    sequence: number,
    viewer?: Viewer,
  ): Promise<RecordState<Row> | undefined> {
    // Visibility depends on the current record. An erased record has no past state that shows who could see it, and the
    // 410 must not reveal the record to others.
    if (visibleRows(kind, viewer) !== null && (await this.records.find(kind, id, viewer)) === undefined)
      return undefined;
    return this.database.readAlone(async () => {
      const [entry] = await this.database.points.all<StateRow>(SELECT_STATE, [id, sequence, kind.subjectType]);
      if (entry !== undefined && entry.erased !== null && entry.stateHash !== null)
        throw contentErased(`the ${kind.subjectType} ${id}`, entry.erased);
      const record = this.rowOf(kind, entry?.state ?? null);
      return entry === undefined || record === undefined ? undefined : { record, since: entry.sequence };
    });
  }

  /**
   * Yields the records, as they were after the entry with the sequence, of a kind whose records are never removed,
   * oldest first; each chunk is read when the loop reaches it.
   * @param only restricts the records to those with a value in a column that never changes
   */
  async *chunks<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    sequence: number,
    only?: { readonly column: ColumnOf<Row>; readonly value: string },
  ): AsyncGenerator<readonly Row[]> {
    const state = `(${SELECT_STATE.replace('"sequence", "state", "stateHash", "erased"', '"state"').replace('$1', 'live."id"')})`;
    const sql =
      `SELECT live."createdSequence", ${state} AS "state" FROM ${quoteName(this.catalog.codec(kind).table)} AS live ` +
      `WHERE live."createdSequence" > $1 AND live."createdSequence" <= $2 ` +
      `${only === undefined ? '' : `AND live.${quoteName(only.column)} = $4 `}ORDER BY live."createdSequence" LIMIT ${CHUNK}`;
    const values = only === undefined ? [] : [only.value];
    const chunks = chunksOf<Pick<StateRow, 'state'> & GovernedRow>((last) =>
      this.database.points.all(sql, [last?.createdSequence ?? 0, sequence, kind.subjectType, ...values]),
    );
    for await (const rows of chunks) yield rows.flatMap(({ state }) => this.rowOf(kind, state) ?? []);
  }

  /**
   * Yields in order the states in which entries with one of the actions left records, after one sequence and up to
   * another.
   */
  async *changes<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    actions: readonly string[],
    { after, upTo }: { readonly after: number; readonly upTo: number },
  ): AsyncGenerator<Row> {
    const names = actions.map((_, index) => `$${index + 3}`).join(', ');
    const sql =
      `SELECT "sequence", "state" FROM "ledger_entries" WHERE "action" IN (${names}) ` +
      `AND "sequence" > $1 AND "sequence" <= $2 ORDER BY "sequence" LIMIT ${CHUNK}`;
    const chunks = chunksOf<StateRow>((last) =>
      this.database.points.all(sql, [last?.sequence ?? after, upTo, ...actions]),
    );
    for await (const rows of chunks) yield* rows.flatMap(({ state }) => this.rowOf(kind, state) ?? []);
  }

  /**
   * Returns the sequence of the last entry at the moment; 0 before the first.
   * @throws VALIDATION_ERROR for a moment in the future
   * @param field name under which the client sent the moment
   */
  async sequenceAt(asOf: Moment, field = 'query.asOf'): Promise<number> {
    if (typeof asOf === 'string') {
      if (asOf > this.ledger.now) throw invalidField(field, 'must not be in the future');
      const [entry] = await this.database.points.all<{ sequence: number }>(SELECT_LAST, [asOf]);
      return entry?.sequence ?? 0;
    }
    const head = await this.counters.headSequence();
    if (asOf < 1 || asOf > head) throw invalidField(field, 'must be a sequence from 1 to that of the last entry');
    return asOf;
  }

  private rowOf<Row extends GovernedRow>(kind: RecordKind<Row>, state: string | null): Row | undefined {
    if (state === null) return undefined;
    return this.catalog.codec(kind).decodeState(JSON.parse(state) as JsonObject) as Row;
  }
}
