import type { SqlValue } from '../database/sql-connection';
import type { Scope } from './caller';
import type { JsonValue } from '../json/json-value';

/** What every governed row carries besides its own columns. */
export interface GovernedRow {
  readonly id: string;
  /** Sequence of the ledger entry that created the row; lists page by it. */
  readonly createdSequence: number;
}

export type ColumnOf<Row> = keyof Row & string;

/** One of a few texts, or a JSON list of any. */
export type DecisiveForm = 'texts' | readonly string[];

/** A row as it is stored, by column. */
export type StoredColumns = Readonly<Record<string, SqlValue>>;

/**
 * A kind of record the ledger keeps: what an entry calls its subject, where its rows live and what of them is hashed.
 * `hashedMembers` is frozen: it decides what `stateHash` covers, so old entries verify for ever.
 */
export interface RecordKind<Row extends GovernedRow> extends AnyRecordKind {
  readonly table: new () => Row;
  readonly hashedMembers: readonly ColumnOf<Row>[];
  readonly laterMembers?: Readonly<Partial<Record<ColumnOf<Row>, JsonValue>>>;
  readonly uniqueKeys?: readonly (readonly ColumnOf<Row>[])[];
  readonly countedBy?: readonly ColumnOf<Row>[];
  readonly listColumns?: readonly ColumnOf<Row>[];
  readonly freeForm?: readonly ColumnOf<Row>[];
  readonly timeColumn?: ColumnOf<Row>;
  readonly due?: { readonly timeColumn: ColumnOf<Row>; readonly where: string };
  readonly decisive?: Readonly<Partial<Record<ColumnOf<Row>, DecisiveForm>>>;
}

/** A kind whose row type does not matter. */
export interface AnyRecordKind {
  readonly subjectType: string;
  /** Without the underscore: `ent` for `ent_01J…`. */
  readonly idPrefix: string;
  /** The TypeORM table class. */
  readonly table: new () => GovernedRow;
  readonly hashedMembers: readonly string[];
  /**
   * Members added since, each with the value that stands for its absence: hashed too, but left out while they have it, so
   * that what was sealed before stays right.
   */
  readonly laterMembers?: Readonly<Partial<Record<string, JsonValue>>>;
  /** Column groups that are unique and can be looked up with `findBy`. Their values never change. */
  readonly uniqueKeys?: readonly (readonly string[])[];
  /** Plural name under which the rows are counted, as in `/stats`. */
  readonly counter: string;
  /** Columns each of whose values, but null, has a total of its own. */
  readonly countedBy?: readonly string[];
  /** JSON lists of texts that lists can be filtered by; each text has a total of its own, too. */
  readonly listColumns?: readonly string[];
  /**
   * Columns of JSON that the service shows, and never looks into: where it is long, what is read to be answered stays as it is
   * stored.
   */
  readonly freeForm?: readonly string[];
  /** The column with the time of creation, indexed, where lists are filtered by it. It never changes. */
  readonly timeColumn?: string;
  /**
   * A column with the time at which something is to be done about the record, while the SQL condition holds for its row. There
   * is an index (time, `id`) of the rows for which it does, and of no others.
   */
  readonly due?: { readonly timeColumn: string; readonly where: string };
  /**
   * Columns by which something is allowed or refused. A row that holds anything else in one was altered by somebody else, and
   * is not read: a deny must not be passed over because its effect is misspelt.
   */
  readonly decisive?: Readonly<Partial<Record<string, DecisiveForm>>>;
  /** The record it belongs to: when that is removed it goes along, without an entry of its own. */
  readonly owner?: {
    readonly kind: AnyRecordKind;
    /** Holds the owner's id; hashed. */
    readonly column: string;
  };
  /** Who sees which of them; without it, whoever has a scope of their routes sees all. */
  readonly visibility?: {
    /** Who has one of these scopes sees all. */
    readonly allWith: readonly Scope[];
    /** Others who are bound to an agent see those with its id here. */
    readonly agentColumn: string;
  };
  /** Whether columns that are not hashed agree with those that are, and with the last entry about the record. */
  readonly unhashedAgree?: (stored: StoredColumns, entry: { readonly entityId: SqlValue }) => boolean;
  /** True where `/stats` counts its records, among those of modules. */
  readonly isInStatistics?: boolean;
  /** True when processes keep rows in memory, so that every change of one is an effect that others follow. */
  readonly isKeptInMemory?: boolean;
}
