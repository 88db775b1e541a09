import { getMetadataArgsStorage } from 'typeorm';
import { type ColumnDefinition, type Dialect, quoteName } from '../database/dialect';
import type { SqlRow, SqlValue } from '../database/sql-connection';
import { type JsonObject, type JsonValue, parsedJson } from '../../core/json/json-value';
import { canonicalJson } from '../chain/canonical-json';
import { deleteRows, equalitySql, insertRows, selectAmong, updateRows } from './statements';
import type { AnyRecordKind, DecisiveForm, GovernedRow } from '../kinds/record-kind';
import type { RowQuery } from './row-query';

/** A row as it was read; some JSON columns may still be text, others already parsed. */
type StoredRow = Readonly<Record<string, SqlValue | JsonValue>>;

/** Bytes in a column of free-form content above which a row is read alone. */
const LARGE = 16 * 1024;
/** Column name that no table has. */
const IS_LARGE = '#large';

/** A row ready for the database, and the hashed form of its state. JSON is rendered once and used for both. */
export interface EncodedRow {
  /** Its values, in column order, as a JSON array. */
  readonly row: string;
  readonly state: string;
}

interface StateMember {
  readonly name: string;
  /** Stored default, with which the member is omitted from the hash; undefined if it is never omitted. */
  readonly unset: SqlValue | undefined;
  readonly column: number;
  readonly isJson: boolean;
}

/**
 * Converts rows of one kind to their stored and hashed forms, and back. The columns are those of its TypeORM table
 * class.
 */
export class RecordCodec {
  readonly table: string;
  readonly columns: readonly ColumnDefinition[];
  /** Names of the columns that an update does not write. */
  private readonly fixed: ReadonlySet<string>;
  /** The statements to insert and to update take their rows as one JSON array of arrays. */
  readonly insertRows: string;
  readonly updateRows: string;
  readonly deleteRows: string;
  private readonly selected: string;
  /** Selected columns, without the free-form content of large rows, and with a mark of large rows. */
  private readonly selectedSmall: string;
  /** The columns of free-form content. */
  readonly longColumns: readonly string[];
  private readonly state: readonly StateMember[];

  constructor(
    readonly kind: AnyRecordKind,
    private readonly dialect: Dialect,
  ) {
    this.table = tableName(kind.table);
    this.columns = columnsOf(kind.table);
    this.selected = this.columns.map((column) => quoteName(column.name)).join(', ');
    this.insertRows = insertRows(dialect, this.table, this.columns);
    const { timeColumn, uniqueKeys = [], fixed = [] } = kind;
    const time = timeColumn === undefined ? [] : [timeColumn];
    this.fixed = new Set(['id', 'createdSequence', ...time, ...uniqueKeys.flat(), ...fixed]);
    this.updateRows = updateRows(dialect, this.table, this.columns, this.fixed);
    this.deleteRows = deleteRows(dialect, this.table);
    this.longColumns = this.columns.filter(({ type }) => type === 'json').map(({ name }) => name);
    this.selectedSmall = this.smallColumns();
    const later = Object.keys(kind.laterMembers ?? {});
    this.state = [...kind.hashedMembers, ...later].sort().map((name) => this.stateMember(name));
  }

  /** Returns the columns with these names, and those that every row has. */
  columnsNamed(names: readonly string[]): readonly ColumnDefinition[] {
    return this.columns.filter(({ name }) => name === 'id' || name === 'createdSequence' || names.includes(name));
  }

  /** Selects the rows whose columns equal the parameters, oldest first. */
  selectWhere(columns: readonly string[]): string {
    return `SELECT ${this.selected} FROM ${quoteName(this.table)} WHERE ${equalitySql(columns)} ORDER BY "createdSequence"`;
  }

  /** Selects the rows about which an entry with one of the given actions was written after `$1`. */
  selectTouchedAfter(actions: number): string {
    const names = Array.from({ length: actions }, (_, index) => `$${index + 2}`).join(', ');
    const touched = `SELECT "subjectId" FROM "ledger_entries" WHERE "action" IN (${names}) AND "sequence" > $1`;
    return `SELECT ${this.selected} FROM ${quoteName(this.table)} WHERE "id" IN (${touched})`;
  }

  /** Selects the rows whose columns have the values of one of the arrays in a JSON array of arrays. */
  selectAmong(columns: readonly string[]): string {
    return selectAmong(this.dialect, this.table, [this.selected], columns);
  }

  /** Returns a query for the position of these values if a row has them in these text columns. */
  presence(values: Readonly<Record<string, SqlValue>>): RowQuery {
    const columns = Object.keys(values);
    const name = `presence ${this.table} ${columns.join()}`;
    const equal = columns.map(
      (column, index) => `${quoteName(column)} = ${this.dialect.jsonAt(index + 1, { name: column, type: 'text' })}`,
    );
    const place = `${this.dialect.jsonAt(0, { name: 'place', type: 'integer' })} AS "place"`;
    const exists = `EXISTS (SELECT 1 FROM ${quoteName(this.table)} WHERE ${equal.join(' AND ')})`;
    const sql = `SELECT ${place} FROM ${this.dialect.jsonElements('$1')} WHERE ${exists}`;
    return { name, sql, key: Object.values(values), dependsOn: [{ kind: this.kind, values }] };
  }

  /** Selects as `selectAmong` does, but without the free-form content of large rows: see `isLarge`. */
  selectSmallAmong(columns: readonly string[]): string {
    return selectAmong(this.dialect, this.table, [this.selectedSmall], columns);
  }

  /** True if a row is large: `selectSmallAmong` reads it without its content. */
  isLarge(stored: SqlRow): boolean {
    const flag = stored[IS_LARGE];
    return flag === undefined ? this.sizeOf(stored) > LARGE : flag === 1;
  }

  /** Returns the number of characters of free-form content. */
  sizeOf(stored: SqlRow): number {
    return this.longColumns.reduce((size, name) => size + String(stored[name] ?? '').length, 0);
  }

  /** @throws Error if a value changes that an update would not write, so that the entry would contradict the row */
  requireUnchanged(previous: GovernedRow, row: GovernedRow): void {
    const before = previous as unknown as Readonly<Record<string, unknown>>;
    const after = row as unknown as Readonly<Record<string, unknown>>;
    for (const name of this.fixed) {
      if (before[name] !== after[name]) throw new Error(`The column ${name} never changes, not even for ${row.id}.`);
    }
  }

  encode(row: GovernedRow): EncodedRow {
    const members = row as unknown as Readonly<Record<string, JsonValue>>;
    const values = this.columns.map(({ name, type }) => encodeValue(members[name], type, name));
    return { row: JSON.stringify(values), state: this.stateOf(values) };
  }

  /** Returns the hashed form of stored values, in column order; for altered values it may not be JSON. */
  stateOf(values: readonly SqlValue[]): string {
    let state = '';
    for (const { name, column, isJson, unset } of this.state) {
      const value = values[column] ?? null;
      if (value === unset) continue;
      const text = isJson && typeof value === 'string' ? value : JSON.stringify(value);
      state += `${state === '' ? '{' : ','}"${name}":${text}`;
    }
    return `${state}}`;
  }

  /** @throws DamagedRowError for a row that the service has not written in this form */
  decode(stored: StoredRow): GovernedRow {
    return this.decodeColumns(stored, this.columns) as unknown as GovernedRow;
  }

  /**
   * Decodes the state that an entry keeps; columns that are not hashed are null.
   * @throws DamagedRowError for an altered state.
   */
  decodeState(state: JsonObject): GovernedRow {
    const members: Record<string, JsonValue> = {};
    for (const { name, isJson } of this.state) {
      const value = state[name] ?? this.kind.laterMembers?.[name] ?? null;
      // A text in a JSON column would be read as JSON.
      members[name] = isJson && typeof value === 'string' ? JSON.stringify(value) : value;
    }
    return this.decode(members);
  }

  /** Decodes a row of which only some columns were read. */
  decodeColumns(stored: StoredRow, columns: readonly ColumnDefinition[]): Readonly<Record<string, unknown>> {
    const row: Record<string, unknown> = {};
    for (const column of columns) row[column.name] = this.decodeValue(stored, column);
    return row;
  }

  /** Decodes a value. SQLite accepts any value in any column, and JSON is text to every database. */
  private decodeValue(stored: StoredRow, { name, type }: ColumnDefinition): unknown {
    const value = stored[name] ?? null;
    if (value === null) return null;
    const decoded = type === 'json' && typeof value === 'string' ? parsedJson(value) : value;
    const form = this.kind.decisive?.[name];
    if (type === 'json' ? decoded === undefined : typeof value !== (type === 'integer' ? 'number' : 'string'))
      throw new DamagedRowError(this.table, stored['id'], `holds no ${type === 'json' ? 'JSON' : type} in ${name}`);
    if (form !== undefined && !hasForm(decoded, form))
      throw new DamagedRowError(this.table, stored['id'], formFault(name, form));
    return decoded;
  }

  /** Columns that decide whether something is allowed. */
  get decisiveColumns(): readonly string[] {
    return Object.keys(this.kind.decisive ?? {});
  }

  /** True if the values of the decisive columns, in order, are values that the service stores. */
  areDecisive(values: readonly SqlValue[]): boolean {
    return Object.values(this.kind.decisive ?? {}).every((form, index) => {
      const value = values[index] ?? null;
      return (
        form === undefined || value === null || hasForm(form === 'texts' ? parsedJson(String(value)) : value, form)
      );
    });
  }

  private smallColumns(): string {
    const isLarge = this.longColumns.map((name) => `COALESCE(octet_length(${quoteName(name)}), 0) > ${LARGE}`);
    const small = this.columns.map(({ name }) =>
      this.longColumns.includes(name)
        ? `CASE WHEN octet_length(${quoteName(name)}) <= ${LARGE} THEN ${quoteName(name)} END AS ${quoteName(name)}`
        : quoteName(name),
    );
    const flag = isLarge.length === 0 ? '0' : `CASE WHEN ${isLarge.join(' OR ')} THEN 1 ELSE 0 END`;
    return [...small, `${flag} AS ${quoteName(IS_LARGE)}`].join(', ');
  }

  private stateMember(name: string): StateMember {
    const column = this.columns.findIndex((other) => other.name === name);
    const definition = this.columns[column];
    if (definition === undefined) {
      throw new Error(`The hashed member ${name} of ${this.kind.subjectType} is not a column of ${this.table}.`);
    }
    const absence = this.kind.laterMembers?.[name];
    const unset = absence === undefined ? undefined : encodeValue(absence, definition.type, name);
    return { name, column, isJson: definition.type === 'json', unset };
  }
}

function encodeValue(value: JsonValue | undefined, type: ColumnDefinition['type'], name: string): SqlValue {
  if (value === undefined) throw new Error(`The column ${name} has no value; write null for an absent one.`);
  if (value === null) return null;
  if (type === 'json') return canonicalJson(value);
  if (type === 'integer' ? typeof value === 'number' : typeof value === 'string') return value as SqlValue;
  throw new Error(`The column ${name} takes ${type}, not ${typeof value}.`);
}

/** The name of a table class. */
export function tableName(table: new () => object): string {
  const name = getMetadataArgsStorage().tables.find(({ target }) => target === table)?.name;
  if (name === undefined) throw new Error(`${table.name} needs @Entity('table_name').`);
  return name;
}

/** Columns in the order of the class. Only types that both databases store alike are allowed. */
export function columnsOf(table: new () => object): ColumnDefinition[] {
  return getMetadataArgsStorage()
    .columns.filter(({ target }) => target === table)
    .map(({ propertyName, options }) => ({ name: propertyName, type: columnType(options.type, propertyName) }));
}

function columnType(type: unknown, name: string): ColumnDefinition['type'] {
  if (type === 'text' || type === 'integer') return type;
  if (type === 'bigint') return 'integer';
  if (type === 'simple-json') return 'json';
  throw new Error(
    `The column ${name} must be declared as 'text', 'integer', 'bigint' or 'simple-json', not ${String(type)}.`,
  );
}

function hasForm(value: unknown, form: DecisiveForm): boolean {
  if (form === 'texts') return Array.isArray(value) && value.every((text) => typeof text === 'string');
  return typeof value === 'string' && form.includes(value);
}

function formFault(name: string, form: DecisiveForm): string {
  return typeof form === 'object' ? `holds none of ${form.join(', ')} in ${name}` : `holds no list of texts in ${name}`;
}

/** The error for a stored row that the service cannot have written. Startup ends with exit code 65. */
export class DamagedRowError extends Error {
  constructor(table: string, id: unknown, fault: string) {
    super(
      `The database was altered: the row ${String(id)} of the table ${table} ${fault}. ` +
        'Verify it with npm run verify, and restore it from a backup.',
    );
    this.name = 'DamagedRowError';
  }
}
