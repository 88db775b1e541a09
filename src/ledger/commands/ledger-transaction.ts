import type { Caller } from '../kinds/caller';
import type { JsonObject } from '../../core/json/json-value';
import type { AnyRecordKind, ColumnOf, GovernedRow, RecordKind } from '../kinds/record-kind';
import type { SqlStatement } from '../database/sql-connection';
import type { DomainError } from '../../core/errors/domain-error';
import type { Lookup } from '../kinds/lookup';
import type { RowQuery } from '../records/row-query';
import type { SumKey } from '../records/sum-key';

export type EntryOutcome = 'success' | 'denied' | 'failed';

/** What an audit entry says beyond its subject, its caller and its place in the chain. */
export interface EntryNote {
  readonly action: string;
  readonly agentId?: string | null;
  readonly entityId?: string | null;
  readonly outcome?: EntryOutcome;
  readonly reason?: string | null;
  /** Names of changed fields, ids, verdicts, numbers; never free-form content. */
  readonly details?: JsonObject;
  /** The service did it automatically; the caller's request only triggered it. */
  readonly bySystem?: true;
}

/** The note of the entry that records an erasure. */
export type ErasureNote = Omit<EntryNote, 'action'>;

/** The note of the entry for a refused caller. */
export type AccessDeniedNote = Pick<EntryNote, 'agentId' | 'reason' | 'details'>;

/**
 * Returned by a command whose entry must be kept although the caller is refused; thrown as an error after the commit.
 */
export class Refusal {
  constructor(readonly error: DomainError) {}
}

/** Returned by a command that answers with an error nevertheless: its entries are kept, and no idempotency key keeps the answer. */
export class Deferral {
  constructor(readonly reason: Error) {}
}

/** What all entries of a command say besides; a reason only where they have none of their own. */
export type EntryAddition = Pick<EntryNote, 'details' | 'reason'>;

/**
 * A command's view of the ledger: reads that see every earlier command, and the only operations that change a record.
 * Each of these writes the entry that seals its change. Rows are read-only; a change is a new row.
 */
export interface LedgerTransaction {
  /** The ledger's time of this command: ISO 8601, UTC, milliseconds; never goes back. */
  readonly now: string;
  /** On whose behalf the command runs. */
  readonly caller: Caller;
  newId<Row extends GovernedRow>(kind: RecordKind<Row>): string;
  find<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<Row | undefined>;
  /** Finds a record that the request names; also undefined if the caller may not see it. */
  findVisible<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<Row | undefined>;
  /** Without reading the record, which may be large. */
  exists<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<boolean>;
  /** By all columns of one of the kind's unique keys. */
  findBy<Row extends GovernedRow>(kind: RecordKind<Row>, key: Partial<Row>): Promise<Row | undefined>;
  /**
   * The rows that have one of the keys, each the values of these columns of a unique key, in few statements. Flushes
   * earlier commands to the database first.
   */
  findAmong<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    columns: readonly ColumnOf<Row>[],
    keys: readonly (readonly string[])[],
  ): Promise<Row[]>;
  /**
   * All rows whose columns equal the given values, oldest first. Flushes earlier commands to the database first, so use
   * it sparingly.
   */
  findAll<Row extends GovernedRow>(kind: RecordKind<Row>, where: Partial<Row>): Promise<Row[]>;
  /**
   * Some columns of the newest rows whose columns equal the given values or are null, the newest first, at most this many: for
   * choosing among records, which may be large. Also flushes earlier commands first.
   */
  findNewest<Row extends GovernedRow, Name extends ColumnOf<Row>>(
    kind: RecordKind<Row>,
    names: readonly Name[],
    where: Partial<Row>,
    most: number,
  ): Promise<(Pick<Row, Name> & GovernedRow)[]>;
  /**
   * Number of rows whose columns equal the given values and, if there are such, are greater than others. Also flushes
   * earlier commands first.
   */
  count<Row extends GovernedRow>(kind: RecordKind<Row>, where: Partial<Row>, greater?: Partial<Row>): Promise<number>;
  insert<Row extends GovernedRow>(kind: RecordKind<Row>, row: Omit<Row, 'createdSequence'>, note: EntryNote): Row;
  update<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): Row;
  remove<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): void;
  /**
   * Removes the rows that belong to an owner, without entries of their own; returns their number for the owner's entry.
   * The command must remove the owner, too: of many rows most are deleted later, which only the removed owner triggers.
   */
  removeWithOwner<Row extends GovernedRow>(kind: RecordKind<Row>, ownerId: string): Promise<number>;
  /** Writes an entry that changes nothing, such as a refused approval. */
  record<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): void;
  /** Writes an entry that says nothing about its subject's state: a caller was refused because of its key or token. */
  recordAccessDenied(subject: Readonly<Record<'type' | 'id', string>>, note: AccessDeniedNote): void;
  /**
   * Runs once the command is on disk, before any later command runs; a promise that it returns is waited for. Must not
   * fail.
   */
  afterCommit(effect: () => unknown): void;
}

/** When something was recorded, and what else the entry says. */
export interface LastEntry {
  /** ISO 8601. */
  readonly timestamp: string;
  /** Empty once they were erased. */
  readonly details: JsonObject | null;
}

/** What the rooms of the service can do besides. It is not part of the package. */
export interface ServiceTransaction extends LedgerTransaction {
  /**
   * Runs row queries; cached results are reused. The other keys are read in one statement, which flushes as `findAll`
   * does.
   */
  runQueries<Found>(queries: readonly RowQuery[]): Promise<readonly (readonly Found[])[]>;
  /** Asks whether a row has these values, or had them when the batch began. */
  presence<Row extends GovernedRow>(kind: RecordKind<Row>, values: Partial<Row>): RowQuery;
  /**
   * Replaces a record by what is left of it once its contents are forgotten, in columns that otherwise never
   * change, too. What earlier entries hold about it is taken from them afterwards.
   */
  erase<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: ErasureNote): Row;
  /** The same for a record that was removed. */
  eraseRemoved(kind: AnyRecordKind, id: string, note: ErasureNote): void;
  /**
   * The time of the last entry about the record or, of an entity, about one of its claims; undefined if there
   * is none. Flushes as `findAll` does.
   */
  lastEntryAt(kind: AnyRecordKind, id: string): Promise<string | undefined>;
  /** The time and the details of the last entry about the record with one of the actions. Flushes as `findAll` does. */
  lastEntryOf(kind: AnyRecordKind, id: string, actions: readonly string[]): Promise<LastEntry | undefined>;
  /** The details of that entry. */
  detailsOf(kind: AnyRecordKind, id: string, actions: readonly string[]): Promise<JsonObject | null | undefined>;
  /**
   * The values of sums that are kept next to the records, in this order; undefined for one that is not kept
   * yet. What the batch has not read yet is read in one statement.
   */
  readSums(keys: readonly SumKey[]): Promise<readonly (string | undefined)[]>;
  /** Sets a sum that the command has read. */
  setSum(key: SumKey, value: string): void;
  /** Sequence of the last entry before the next one of this command. */
  readonly headSequence: number;
  /**
   * Changes rows that are not records, such as the position of a webhook's deliveries: without an entry, and
   * together with what else the command writes. The batch ends with it: what reads the row in the next one sees the change.
   */
  writeWithoutEntry(change: SqlStatement): void;
  /** Number of such changes so far. */
  readonly sideWrites: number;
  /** Drops what the command has written and read so far. */
  discard(): void;
  /** Applies to the entries that follow. */
  entryAddition: EntryAddition;
}

/**
 * Asked, when an idempotency key has an earlier answer, whether that answer may be replayed; null when it may.
 * Otherwise its result is the answer, together with the entries it made.
 */
export type BeforeReplay<Result> = (transaction: LedgerTransaction, answer: Result) => Promise<Result | Refusal | null>;

/** What a command will ask, as far as that is known beforehand: all of a batch is read at once. */
export type PrefetchQueries = (
  transaction: Pick<ServiceTransaction, 'find' | 'findBy' | 'now' | 'presence'>,
) => Promise<readonly RowQuery[]>;

/** Options of a write. */
export interface WriteOptions<Result> {
  /** Read at once for all commands of a batch. */
  readonly lookups?: readonly Lookup[];
  /** Without it, the answer that is kept for an idempotency key may always be replayed. */
  readonly beforeReplay?: BeforeReplay<Result>;
}

/** Options of a write by the service's own rooms. */
export interface ServiceWriteOptions<Result> extends Omit<WriteOptions<Result>, 'beforeReplay'> {
  readonly beforeReplay?: (transaction: ServiceTransaction, answer: Result) => Promise<Result | Refusal | null>;
  readonly foresight?: PrefetchQueries;
}

/** A unit of writing. It may run more than once, so it must have no effects outside its transaction. */
export type Command<Result> = (transaction: LedgerTransaction) => Promise<Result | Refusal>;

/** A command of the service's own rooms. */
export type ServiceCommand<Result> = (transaction: ServiceTransaction) => Promise<Result | Refusal>;
