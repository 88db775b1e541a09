import type { SqlValue } from '../database/sql-connection';
import type { Scope } from './caller';
import type { JsonValue } from '../../core/json/json-value';

/** Columns that every governed row has. */
export interface GovernedRow {
  readonly id: string;
  /** Sequence of the ledger entry that created the row; lists are paged by it. */
  readonly createdSequence: number;
}

export type ColumnOf<Row> = keyof Row & string;

/** Valid values of a decisive column: one of the given texts; for `texts`, a JSON list of any texts. */
export type DecisiveForm = 'texts' | readonly string[];

/** A row as it is stored, by column. */
export type StoredColumns = Readonly<Record<string, SqlValue>>;

/** Members of an entry, besides the state, that describe a change. */
export type EntryFacts = Readonly<
  Record<'timestamp' | 'entityId' | 'agentId' | 'actorType' | 'actorId' | 'details', SqlValue>
>;

/**
 * A kind of record in the ledger: the name entries use for it, where its rows live and which members are hashed.
 * `hashedMembers` is frozen: it defines what `stateHash` covers, so that old entries can always be verified.
 */
export interface RecordKind<Row extends GovernedRow, Column extends string = ColumnOf<Row>> {
  readonly subjectType: string;
  /** Prefix of ids without the underscore: `ent` for `ent_01J…`. */
  readonly idPrefix: string;
  /** The TypeORM table class. */
  readonly table: new () => Row;
  readonly hashedMembers: readonly Column[];
  /**
   * Members added later, each with the default that stands for its absence. They are hashed, too, but omitted while
   * they have the default, so that older seals remain valid.
   */
  readonly laterMembers?: Readonly<Partial<Record<Column, JsonValue>>>;
  /** Column groups that are unique and can be looked up with `findBy`. Their values never change. */
  readonly uniqueKeys?: readonly (readonly Column[])[];
  /** Plural name under which the rows are counted, as in `/stats`. */
  readonly counter: string;
  /** Columns with a total per value, except null. */
  readonly countedBy?: readonly Column[];
  /** Columns with JSON lists of texts, by which lists of records can be filtered; each text has a total as well. */
  readonly listColumns?: readonly Column[];
  /** The indexed column of the creation time, if lists can be filtered by it. It never changes. */
  readonly timeColumn?: Column;
  /**
   * Other columns of texts or numbers whose values never change: an update need not touch their indexes, which on
   * SQLite is most of its work.
   */
  readonly fixed?: readonly Column[];
  /**
   * A column with the time at which the record becomes due, while the SQL condition holds for its row. There is a
   * partial index (time, `id`) of exactly these rows.
   */
  readonly due?: { readonly timeColumn: Column; readonly where: string };
  /**
   * Columns that decide whether something is allowed. A row with another value in such a column was altered, and is not
   * read: a deny must not be skipped because its effect is misspelt.
   */
  readonly decisive?: Readonly<Partial<Record<Column, DecisiveForm>>>;
  /**
   * The kind of record that owns this one: if the owner is removed, this record is removed as well, without an entry of
   * its own.
   */
  readonly owner?: {
    readonly kind: AnyRecordKind;
    /** Column of the owner's id; hashed. */
    readonly column: string;
  };
  /** Restricts which viewers see which records; without it, everyone with a scope for their routes sees all. */
  readonly visibility?: {
    /** Scopes of which each lets a viewer see all records. */
    readonly allWith: readonly Scope[];
    /** Column with an agent's id: other viewers that are bound to an agent see the records with its id. */
    readonly agentColumn: string;
    /** Viewers with this scope see exactly the records that have a value in the column. */
    readonly presentFor?: { readonly scope: Scope; readonly column: string };
  };
  /** Team of a record, for viewers of a team; absent if such viewers see the records that others see. */
  readonly team?: TeamMembership;
  /** True if the columns that are not hashed match those that are, and the last entry about the record. */
  readonly unhashedAgree?: (stored: StoredColumns, entry: EntryFacts) => boolean;
  /**
   * Columns that are not hashed and repeat columns of another record, whose id is in the column `by`, so that lists
   * filter and show them without reading that record.
   */
  readonly repeats?: { readonly table: string; readonly by: string; readonly columns: readonly string[] };
  /**
   * Columns that are not hashed, each with an action: the column has the sequence of the entry with this action about
   * the record; null if there is none.
   */
  readonly entrySequences?: Readonly<Partial<Record<Column, string>>>;
  /** True if `unhashedAgree` needs the details of the entry, which are only read then. */
  readonly isSaidInDetails?: true;
  /** True if `/stats` counts the records among those of modules. */
  readonly isInStatistics?: boolean;
  /** True if processes keep rows in memory: every change of a row is an effect that other processes follow. */
  readonly isKeptInMemory?: boolean;
}

/**
 * A record belongs to the team in its own column, or to the team of the record of another kind whose id is in its
 * column. `nobody`: no team sees such records.
 */
export type TeamMembership =
  | { readonly column: string; /** True if every team sees the records of no team. */ readonly sharesOthers?: true }
  | { readonly column: string; readonly of: AnyRecordKind }
  | 'nobody';

/** A kind with any type of row. */
export type AnyRecordKind = RecordKind<GovernedRow, string>;
