import { type Caller, SYSTEM_CALLER } from '../kinds/caller';
import { quoteName } from '../database/dialect';
import type { SqlRow, SqlStatement, SqlValue } from '../database/sql-connection';
import type { JsonObject } from '../../core/json/json-value';
import { canonicalJson } from '../chain/canonical-json';
import { newSalt } from '../chain/random';
import type {
  AccessDeniedNote,
  EntryAddition,
  EntryNote,
  ErasureNote,
  LastEntry,
} from '../commands/ledger-transaction';
import type { ServiceTransaction } from '../commands/ledger-transaction';
import { type AfterCommit, type Batch, changedRow, PendingChanges } from './batch';
import { ACCESS_DENIED, erasureAction } from '../chain/stored-entry';
import { isOwnedSql, ownerColumn } from '../records/record-catalog';
import type { RecordCodec } from '../records/record-codec';
import { equalitySql, lastTimeSql } from '../records/statements';
import { visibleTo } from '../records/visibility';
import type { RowQuery } from '../records/row-query';
import { type StoredSum, sumQuery, type SumKey, sumName } from '../records/sum-key';
import type { AnyRecordKind, ColumnOf, GovernedRow, RecordKind } from '../kinds/record-kind';
import type { Where } from './batch-reads';
import { emptyEntriesOf } from './leftover-statements';

/** Most keys of one statement that reads rows. */
const READ_AT_ONCE = 250;

/**
 * One command's view of the ledger. Its writes stay here until the command has returned. If it throws, they are
 * dropped, and no other command of the batch has seen them.
 */
export class CommandDraft implements ServiceTransaction {
  pending = new PendingChanges();
  entryAddition: EntryAddition = {};
  /** Maps ids to rows; null if only the row's existence is known. */
  private readonly rowsRead = new Map<string, GovernedRow | null>();
  /** Number of reads and entries so far; it grows as long as the command makes progress. */
  steps = 0;
  private reads = 0;
  private isFinished = false;

  constructor(
    private readonly batch: Batch,
    readonly caller: Caller,
    readonly now: string,
  ) {}

  /** True if the command is waiting for the database. */
  get isReading(): boolean {
    return this.reads > 0;
  }

  newId<Row extends GovernedRow>(kind: RecordKind<Row>): string {
    return `${kind.idPrefix}_${this.batch.ulids.next(Date.parse(this.now))}`;
  }

  async find<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<Row | undefined> {
    const change = this.pending.rows.get(id) ?? this.batch.rows.get(id);
    const row =
      change === undefined ? await this.reading(() => this.batch.reads.find(kind, { id })) : changedRow(change, kind);
    return this.remember(row as Row | undefined);
  }

  async findVisible<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<Row | undefined> {
    return visibleTo(this.caller, kind, await this.find(kind, id), (other, id) => this.find(other, id));
  }

  async exists<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<boolean> {
    const change = this.pending.rows.get(id) ?? this.batch.rows.get(id);
    const isPresent =
      change === undefined
        ? await this.reading(() => this.batch.reads.exists(kind, id))
        : changedRow(change, kind) !== undefined;
    if (isPresent && !this.rowsRead.has(id)) this.rowsRead.set(id, null);
    return isPresent;
  }

  async findBy<Row extends GovernedRow>(kind: RecordKind<Row>, key: Partial<Row>): Promise<Row | undefined> {
    const values = key as Where;
    const row =
      this.pending.rows.findBy(kind, values) ??
      this.batch.rows.findBy(kind, values) ??
      (await this.reading(() => this.batch.reads.find(kind, values)));
    // An earlier command may have changed or removed the row that the database returned.
    return row === undefined ? undefined : this.find(kind, row.id);
  }

  async findAmong<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    columns: readonly ColumnOf<Row>[],
    keys: readonly (readonly string[])[],
  ): Promise<Row[]> {
    this.refuseOwnChanges(kind);
    const codec = this.codec(kind);
    const rows: Row[] = [];
    for (let start = 0; start < keys.length; start += READ_AT_ONCE) {
      const some = JSON.stringify(keys.slice(start, start + READ_AT_ONCE));
      for (const row of await this.query(codec.selectAmong(columns), [some]))
        rows.push(this.remember(codec.decode(row) as Row));
    }
    return rows;
  }

  async findAll<Row extends GovernedRow>(kind: RecordKind<Row>, where: Partial<Row>): Promise<Row[]> {
    this.refuseOwnChanges(kind);
    const codec = this.codec(kind);
    const rows = await this.query(codec.selectWhere(Object.keys(where)), Object.values(where as Where));
    return rows.map((row) => this.remember(codec.decode(row) as Row));
  }

  async findNewest<Row extends GovernedRow, Name extends ColumnOf<Row>>(
    kind: RecordKind<Row>,
    names: readonly Name[],
    where: Partial<Row>,
    most: number,
  ): Promise<(Pick<Row, Name> & GovernedRow)[]> {
    this.refuseOwnChanges(kind);
    const codec = this.codec(kind);
    const columns = codec.columnsNamed(names);
    const selected = columns.map(({ name }) => quoteName(name)).join(', ');
    const all = Object.entries(where as Where);
    const requiredValues = all.filter(([, value]) => value !== null);
    const nulls = all.filter(([, value]) => value === null).map(([name]) => `${quoteName(name)} IS NULL`);
    const conditions = [equalitySql(requiredValues.map(([name]) => name)), ...nulls].join(' AND ');
    const sql =
      `SELECT ${selected} FROM ${quoteName(codec.table)} WHERE ${conditions} ` +
      `ORDER BY "createdSequence" DESC LIMIT $${requiredValues.length + 1}`;
    const rows = await this.query(sql, [...requiredValues.map(([, value]) => value), most]);
    return rows.map((row) => codec.decodeColumns(row, columns) as unknown as Pick<Row, Name> & GovernedRow);
  }

  async count<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    where: Partial<Row>,
    greater: Partial<Row> = {},
  ): Promise<number> {
    this.refuseOwnChanges(kind);
    const values = Object.values(where as Where);
    const others = Object.keys(greater).map((name, index) => `${quoteName(name)} > $${values.length + index + 1}`);
    const conditions = [equalitySql(Object.keys(where)), ...others].join(' AND ');
    const sql = `SELECT count(*) AS "count" FROM ${quoteName(this.codec(kind).table)} WHERE ${conditions}`;
    const [row] = await this.query<{ count: number }>(sql, [...values, ...Object.values(greater as Where)]);
    return row?.count ?? 0;
  }

  async runQueries<Found>(queries: readonly RowQuery[]): Promise<readonly (readonly Found[])[]> {
    return this.reading(() => this.batch.rowQueries.read<Found>(queries, () => this.batch.flush()));
  }

  presence<Row extends GovernedRow>(kind: RecordKind<Row>, values: Partial<Row>): RowQuery {
    return this.codec(kind).presence(values as Where);
  }

  insert<Row extends GovernedRow>(kind: RecordKind<Row>, row: Omit<Row, 'createdSequence'>, note: EntryNote): Row {
    // The placeholder before the copy spares V8 a slow path: the member already exists when the copy sets it.
    const created = { ...{ createdSequence: 0, ...row }, createdSequence: this.headSequence + 1 } as unknown as Row;
    this.requireOwner(kind, created);
    this.change(kind, created.id, created, note, { isNew: true });
    return created;
  }

  update<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): Row {
    this.change(kind, row.id, row, note);
    return row;
  }

  remove<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): void {
    this.change(kind, row.id, null, note);
  }

  async removeWithOwner<Row extends GovernedRow>(kind: RecordKind<Row>, ownerId: string): Promise<number> {
    if (kind.countedBy !== undefined || kind.listColumns !== undefined)
      throw new Error(`Rows of ${kind.counter} are counted apart; remove them one by one.`);
    const count = await this.count(kind, { [ownerColumn(kind)]: ownerId } as Partial<Row>);
    this.pending.ownedRemovals.push({ codec: this.codec(kind), ownerId, count });
    this.pending.counts.add(kind.counter, -count);
    return count;
  }

  erase<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: ErasureNote): Row {
    this.change(kind, row.id, row, { ...note, action: erasureAction(kind.subjectType) }, { isErased: true });
    this.emptyEntries(kind, row.id);
    return row;
  }

  eraseRemoved(kind: AnyRecordKind, id: string, note: ErasureNote): void {
    this.addEntry(kind.subjectType, id, null, { ...note, action: erasureAction(kind.subjectType) });
    this.emptyEntries(kind, id);
  }

  async lastEntryAt({ subjectType }: AnyRecordKind, id: string): Promise<string | undefined> {
    const own = lastTimeSql('"subjectId" = $1 AND "subjectType" = $2');
    const owned = lastTimeSql(`"entityId" = $1 AND ${isOwnedSql(this.batch.reads.catalog)}`);
    const sql = `SELECT max("timestamp") AS "at" FROM (${own} UNION ALL ${owned}) AS "last"`;
    const [last] = await this.query<{ at: string | null }>(sql, [id, subjectType]);
    return last?.at ?? undefined;
  }

  async detailsOf(kind: AnyRecordKind, id: string, actions: readonly string[]): Promise<JsonObject | null | undefined> {
    return (await this.lastEntryOf(kind, id, actions))?.details;
  }

  async lastEntryOf(
    { subjectType }: AnyRecordKind,
    id: string,
    actions: readonly string[],
  ): Promise<LastEntry | undefined> {
    const places = actions.map((_, index) => `$${index + 3}`).join(', ');
    const sql =
      `SELECT "timestamp", "details" FROM "ledger_entries" WHERE "subjectId" = $1 AND "subjectType" = $2 ` +
      `AND "action" IN (${places}) ORDER BY "sequence" DESC LIMIT 1`;
    const [entry] = await this.query<{ timestamp: string; details: string }>(sql, [id, subjectType, ...actions]);
    if (entry === undefined) return undefined;
    return { timestamp: entry.timestamp, details: JSON.parse(entry.details) as JsonObject | null };
  }

  record<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): void {
    this.addEntry(kind.subjectType, row.id, this.codec(kind).encode(row).state, note);
  }

  recordAccessDenied(
    { type, id }: Readonly<Record<'type' | 'id', string>>,
    { agentId = null, reason = null, details = {} }: AccessDeniedNote,
  ): void {
    this.addEntry(type, id, null, { action: ACCESS_DENIED, agentId, reason, details, outcome: 'denied' });
  }

  writeWithoutEntry(change: SqlStatement): void {
    this.refuseIfFinished();
    this.steps += 1;
    this.pending.sideWrites.push(change);
  }

  async readSums(keys: readonly SumKey[]): Promise<readonly (string | undefined)[]> {
    const { rowQueries, reads, storedSums } = this.batch;
    const queries = keys.map((key) => sumQuery(reads.catalog.dialect, key));
    const rows = await this.reading(() => rowQueries.read<StoredSum>(queries));
    return keys.map((key, index) => {
      const sum = this.pending.storedSums.get(sumName(key)) ?? storedSums.get(sumName(key));
      return (sum ?? rows[index]?.[0])?.value;
    });
  }

  setSum(key: SumKey, value: string): void {
    this.refuseIfFinished();
    this.pending.storedSums.set(sumName(key), { ...key, value });
  }

  get sideWrites(): number {
    return this.pending.sideWrites.length;
  }

  discard(): void {
    this.refuseIfFinished();
    this.pending = new PendingChanges();
    this.rowsRead.clear();
  }

  afterCommit(effect: AfterCommit): void {
    this.pending.effects.push(effect);
  }

  /** Ends the command, so that work it left running cannot write in place of the next command. */
  finish(): void {
    this.isFinished = true;
  }

  /** Keeps the server from ending the session as idle in a transaction. If this fails, so does the next statement. */
  keepSession(): void {
    this.batch.reads.connection.run('SELECT 1').catch(() => undefined);
  }

  /**
   * Ids of the records that the command's entries are about, or of their owners; excludes records that it has erased.
   */
  get recorded(): string[] {
    const { owners } = this.batch.reads.catalog;
    return this.pending.entries
      .map(({ subjectType, subjectId, entityId }) => (owners.has(subjectType) ? (entityId ?? subjectId) : subjectId))
      .filter((recorded) => !this.pending.erased.has(recorded));
  }

  get headSequence(): number {
    return this.batch.position.sequence + this.pending.entries.length;
  }

  /** @param row null if it is removed @param options.isErased true if columns change that otherwise never do */
  private change(
    kind: AnyRecordKind,
    id: string,
    row: GovernedRow | null,
    note: EntryNote,
    { isNew = false, isErased = false } = {},
  ): void {
    const codec = this.codec(kind);
    const previous = isNew ? null : this.previous(kind, id);
    if (previous !== null && row !== null && !isErased) codec.requireUnchanged(previous, row);
    const encoded = row === null ? null : codec.encode(row);
    // The entry comes first: if it fails and the command swallows the error, no change may remain without an entry.
    this.addEntry(kind.subjectType, id, encoded?.state ?? null, note);
    if (previous !== null) this.pending.counts.addRow(kind, previous, -1);
    if (row !== null) this.pending.counts.addRow(kind, row, 1);
    this.pending.rows.put({ codec, id, row, encoded, isNew, isErased });
    if (row === null) this.rowsRead.delete(id);
    else this.rowsRead.set(id, row);
  }

  private async reading<Found>(read: () => Promise<Found>): Promise<Found> {
    this.refuseIfFinished();
    this.reads += 1;
    this.steps += 1;
    try {
      return await read();
    } finally {
      this.reads -= 1;
    }
  }

  private emptyEntries({ subjectType }: AnyRecordKind, id: string): void {
    this.writeWithoutEntry(emptyEntriesOf(subjectType, id));
    this.pending.erased.add(id);
  }

  /** Reads from the database, after writing the changes of earlier commands of the batch. */
  private query<Found = SqlRow>(sql: string, parameters: readonly SqlValue[]): Promise<Found[]> {
    return this.reading(async () => {
      await this.batch.flush();
      return this.batch.reads.connection.all<Found>(sql, parameters);
    });
  }

  private codec(kind: AnyRecordKind): RecordCodec {
    return this.batch.reads.catalog.codec(kind);
  }

  private addEntry(subjectType: string, subjectId: string, state: string | null, note: EntryNote): void {
    this.refuseIfFinished();
    this.steps += 1;
    const { caller, now: timestamp } = this;
    const { details: added, reason: addedReason = null } = this.entryAddition;
    const isBare = note.details === undefined && added === undefined;
    const details = isBare ? '{}' : canonicalJson({ ...note.details, ...added });
    const actor = note.bySystem === true ? SYSTEM_CALLER.actor : caller.actor;
    const sequence = this.headSequence + 1;
    const ulid = this.batch.ulids.next(Date.parse(timestamp));
    const entry = {
      sequence,
      id: `prv_${ulid}`,
      auditId: `aud_${ulid}`,
      timestamp,
      action: note.action,
      actorType: actor.type,
      actorId: actor.id,
      agentId: note.agentId ?? null,
      entityId: note.entityId ?? null,
      subjectType,
      subjectId,
      outcome: note.outcome ?? 'success',
      reason: note.reason ?? addedReason,
      details,
      requestId: caller.requestId,
      ip: caller.ip,
      state,
      detailsSalt: newSalt(),
      stateSalt: state === null ? null : newSalt(),
    };
    this.pending.entries.push(entry);
    this.pending.counts.addEntry(entry);
  }

  private remember<Row extends GovernedRow | undefined>(row: Row): Row {
    if (row !== undefined) this.rowsRead.set(row.id, row);
    return row;
  }

  /** Returns the row that this command has read; otherwise it would overwrite another command's change. */
  private previous(kind: AnyRecordKind, id: string): GovernedRow {
    const previous = this.rowsRead.get(id) ?? null;
    if (previous === null) throw new Error(`The ${kind.subjectType} ${id} was changed without being read first.`);
    return previous;
  }

  /** Refuses a row without its owner. The database would accept it: rows outlive their owner until they are deleted. */
  private requireOwner({ owner, subjectType }: AnyRecordKind, row: GovernedRow): void {
    if (owner === undefined) return;
    const ownerId = String(Reflect.get(row, owner.column));
    if (this.rowsRead.has(ownerId)) return;
    throw new Error(`The ${subjectType} ${row.id} was added to ${ownerId}, which was not read first.`);
  }

  private refuseIfFinished(): void {
    if (this.isFinished) throw new Error('A command used its transaction after it had ended.');
  }

  private refuseOwnChanges(kind: AnyRecordKind): void {
    if (this.pending.rows.touches(kind)) throw new Error(`Read ${kind.counter} before the command changes them.`);
  }
}
