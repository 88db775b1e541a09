import type { Caller } from '../kinds/caller';
import type { JsonObject } from '../../core/json/json-value';
import type { AnyRecordKind, ColumnOf, GovernedRow, RecordKind } from '../kinds/record-kind';
import type { SqlStatement } from '../database/sql-connection';
import type { DomainError } from '../../core/errors/domain-error';
import type { Lookup } from '../kinds/lookup';
import type { RowQuery } from '../records/row-query';
import type { SumKey } from '../records/sum-key';

export type EntryOutcome = 'success' | 'denied' | 'failed';

/** Contents of an audit entry besides its subject, its caller and its position in the chain. */
export interface EntryNote {
  readonly action: string;
  readonly agentId?: string | null;
  readonly entityId?: string | null;
  readonly outcome?: EntryOutcome;
  readonly reason?: string | null;
  /** Names of changed fields, ids, verdicts, numbers; never free-form content. */
  readonly details?: JsonObject;
  /** True if the service acted automatically and the caller's request only triggered it. */
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

/**
 * Returned by a command that responds with an error although its entries are committed. No idempotency key stores the
 * response.
 */
export class Deferral {
  constructor(readonly reason: Error) {}
}

/** Details and reason that all entries of a command get in addition; the reason only counts for entries without one. */
export type EntryAddition = Pick<EntryNote, 'details' | 'reason'>;

/**
 * A command's view of the ledger: reads that see every earlier command, and the only operations that change a record.
 * Each of these writes the entry that seals its change. Rows are read-only; a change is a new row.
 */
export interface LedgerTransaction {
  /** The ledger's time of this command: ISO 8601, UTC, milliseconds; never goes back. */
  readonly now: string;
  /** The caller on whose behalf the command runs. */
  readonly caller: Caller;
  newId<Row extends GovernedRow>(kind: RecordKind<Row>): string;
  find<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<Row | undefined>;
  /** Finds a record that the request names; also undefined if the caller may not see it. */
  findVisible<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<Row | undefined>;
  /** True if the record exists. Does not read it, as it may be large. */
  exists<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<boolean>;
  /** Finds a row by all columns of one of the kind's unique keys. */
  findBy<Row extends GovernedRow>(kind: RecordKind<Row>, key: Partial<Row>): Promise<Row | undefined>;
  /**
   * Finds the rows that have one of the keys in few statements. A key has values for these columns, which form a unique
   * key. Flushes earlier commands to the database first.
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
   * Finds at most `most` rows whose columns equal the given values or are null, newest first, and reads only some of
   * their columns. For choosing among records, which may be large. Flushes earlier commands first.
   */
  findNewest<Row extends GovernedRow, Name extends ColumnOf<Row>>(
    kind: RecordKind<Row>,
    names: readonly Name[],
    where: Partial<Row>,
    most: number,
  ): Promise<(Pick<Row, Name> & GovernedRow)[]>;
  /**
   * Counts the rows whose columns equal the given values and exceed those of `greater`, if given. Flushes earlier
   * commands first.
   */
  count<Row extends GovernedRow>(kind: RecordKind<Row>, where: Partial<Row>, greater?: Partial<Row>): Promise<number>;
  insert<Row extends GovernedRow>(kind: RecordKind<Row>, row: Omit<Row, 'createdSequence'>, note: EntryNote): Row;
  update<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): Row;
  remove<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): void;
  /**
   * Removes the rows that belong to an owner, without entries of their own, and returns their number for the owner's
   * entry. The command must remove the owner, too: if there are many rows, most are deleted later, which only a removed
   * owner triggers.
   */
  removeWithOwner<Row extends GovernedRow>(kind: RecordKind<Row>, ownerId: string): Promise<number>;
  /** Writes an entry that changes nothing, such as a refused approval. */
  record<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): void;
  /** Writes an entry that a caller was refused because of its key or token. It has no state of its subject. */
  recordAccessDenied(subject: Readonly<Record<'type' | 'id', string>>, note: AccessDeniedNote): void;
  /**
   * Runs once the command is on disk, before any later command runs; a promise that it returns is waited for. Must not
   * fail.
   */
  afterCommit(effect: () => unknown): void;
}

/** Time and details of an entry. */
export interface LastEntry {
  /** ISO 8601. */
  readonly timestamp: string;
  /** Null if the details were erased. */
  readonly details: JsonObject | null;
}

/** The operations that only the service's own rooms may use. They are not part of the package. */
export interface ServiceTransaction extends LedgerTransaction {
  /**
   * Runs row queries and reuses cached results. All other keys are read in one statement, which flushes as `findAll`
   * does.
   */
  runQueries<Found>(queries: readonly RowQuery[]): Promise<readonly (readonly Found[])[]>;
  /** Returns a query for whether a row has these values, or had them when the batch began. */
  presence<Row extends GovernedRow>(kind: RecordKind<Row>, values: Partial<Row>): RowQuery;
  /**
   * Replaces a record by what an erasure leaves of it, even in columns that otherwise never change. The contents of
   * earlier entries about it are erased afterwards.
   */
  erase<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: ErasureNote): Row;
  /** Erases a record that was removed. */
  eraseRemoved(kind: AnyRecordKind, id: string, note: ErasureNote): void;
  /**
   * Returns the time of the last entry about the record or, for an entity, about one of its claims; undefined if there
   * is none. Flushes as `findAll` does.
   */
  lastEntryAt(kind: AnyRecordKind, id: string): Promise<string | undefined>;
  /**
   * Returns the time and details of the last entry about the record with one of the actions. Flushes as `findAll` does.
   */
  lastEntryOf(kind: AnyRecordKind, id: string, actions: readonly string[]): Promise<LastEntry | undefined>;
  /** Returns the details of the last entry about the record with one of the actions. */
  detailsOf(kind: AnyRecordKind, id: string, actions: readonly string[]): Promise<JsonObject | null | undefined>;
  /**
   * Returns the values of stored sums, in this order; undefined for a sum that is not stored yet. Sums that the batch
   * has not read are read in one statement.
   */
  readSums(keys: readonly SumKey[]): Promise<readonly (string | undefined)[]>;
  /** Sets a sum that the command has read. */
  setSum(key: SumKey, value: string): void;
  /** Sequence of the last entry before the next one of this command. */
  readonly headSequence: number;
  /**
   * Changes rows that are not records, such as the position of a webhook's deliveries, without an entry. The change is
   * committed with the command. It ends the batch, so that reads in the next batch see it.
   */
  writeWithoutEntry(change: SqlStatement): void;
  /** Number of changes without an entry so far. */
  readonly sideWrites: number;
  /** Drops what the command has written and read so far. */
  discard(): void;
  /** Addition to the entries that follow. */
  entryAddition: EntryAddition;
}

/**
 * Called with a stored response before it is replayed. Returns null if it may be replayed; otherwise its result becomes
 * the response, and its entries are written.
 */
export type BeforeReplay<Result> = (transaction: LedgerTransaction, answer: Result) => Promise<Result | Refusal | null>;

/** Returns the queries that a command will probably run, so that one statement can read those of a whole batch. */
export type AnnounceQueries = (
  transaction: Pick<ServiceTransaction, 'find' | 'findBy' | 'now' | 'presence'>,
) => Promise<readonly RowQuery[]>;

/** Options of a write. */
export interface WriteOptions<Result> {
  /** Rows to read in advance, in one statement for all commands of a batch. */
  readonly lookups?: readonly Lookup[];
  /** Without it, a stored response may always be replayed. */
  readonly beforeReplay?: BeforeReplay<Result>;
}

/** Options of a write by the service's own rooms. */
export interface ServiceWriteOptions<Result> extends Omit<WriteOptions<Result>, 'beforeReplay'> {
  readonly beforeReplay?: (transaction: ServiceTransaction, answer: Result) => Promise<Result | Refusal | null>;
  readonly announceQueries?: AnnounceQueries;
}

/** A unit of writing. It may run more than once, so it must have no effects outside its transaction. */
export type Command<Result> = (transaction: LedgerTransaction) => Promise<Result | Refusal>;

/** A command of the service's own rooms. */
export type ServiceCommand<Result> = (transaction: ServiceTransaction) => Promise<Result | Refusal>;
