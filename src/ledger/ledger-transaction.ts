import type { Caller } from './caller';
import type { JsonObject } from '../json/json-value';
import type { GovernedRow, RecordKind } from './record-kind';
import type { DomainError } from '../errors/domain-error';

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
  /** The service did it by itself; the caller's request only brought it to light. */
  readonly bySystem?: true;
}

/** What the entry of a refused caller says. */
export type AccessDeniedNote = Pick<EntryNote, 'agentId' | 'reason' | 'details'>;

/** Returned by a command whose entry must be kept although the caller is refused; becomes the error after the commit. */
export class Refusal {
  constructor(readonly error: DomainError) {}
}

export type SqlValue = string | number | null;

/**
 * What a command sees of the ledger: reads that see every earlier command, and the only verbs that change a record.
 * Each verb makes the entry that seals its change. Rows are read-only values; a change is a new row.
 */
export interface LedgerTransaction {
  /** The ledger's time of this command: ISO 8601, UTC, milliseconds; never goes back. */
  readonly now: string;
  /** On whose behalf the command runs. */
  readonly caller: Caller;
  newId<Row extends GovernedRow>(kind: RecordKind<Row>): string;
  find<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<Row | undefined>;
  /** The same for a record that the request names: undefined, too, where the caller may not see it. */
  findSeen<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<Row | undefined>;
  /** Without reading the record, which may be large. */
  exists<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<boolean>;
  /** By all columns of one of the kind's unique keys. */
  findBy<Row extends GovernedRow>(kind: RecordKind<Row>, key: Partial<Row>): Promise<Row | undefined>;
  /**
   * The rows whose columns equal the given values, oldest first: all, or so many of the newest. Writes earlier commands out
   * first, so use it sparingly.
   */
  findAll<Row extends GovernedRow>(kind: RecordKind<Row>, where: Partial<Row>, newest?: number): Promise<Row[]>;
  /** How many rows there are whose columns equal the given values. Writes earlier commands out first, too. */
  count<Row extends GovernedRow>(kind: RecordKind<Row>, where: Partial<Row>): Promise<number>;
  insert<Row extends GovernedRow>(kind: RecordKind<Row>, row: Omit<Row, 'createdSequence'>, note: EntryNote): Row;
  update<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): Row;
  remove<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): void;
  /**
   * Removes the rows that go with an owner, without entries of their own; answers their number for the owner's entry. The
   * command removes the owner, too: where the rows are many, most are deleted later, and without it nobody asks for them.
   */
  removeWithOwner<Row extends GovernedRow>(kind: RecordKind<Row>, ownerId: string): Promise<number>;
  /** An entry that changes nothing, such as a refused approval. */
  record<Row extends GovernedRow>(kind: RecordKind<Row>, row: Row, note: EntryNote): void;
  /** An entry that says nothing of its subject's state: a caller was refused, by its key or its token. */
  recordAccessDenied(subject: Readonly<Record<'type' | 'id', string>>, note: AccessDeniedNote): void;
  /** Runs once the command is on disk and before any later command runs. Must not throw. */
  afterCommit(effect: () => void): void;
}

/**
 * Asked, where an idempotency key has been answered before, whether that answer may be given again; null when it may. What it
 * returns otherwise is answered instead, with the entries that it made.
 */
export type BeforeReplay<Result> = (transaction: LedgerTransaction, answer: Result) => Promise<Result | Refusal | null>;

/** A unit of writing. It may run more than once, so it does nothing but through its transaction. */
export type Command<Result> = (transaction: LedgerTransaction) => Promise<Result | Refusal>;
