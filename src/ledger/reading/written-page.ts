import { isFault } from '../database/database-fault';
import type { Database } from '../database/database';
import { type ColumnDefinition, type Dialect, quoteName } from '../database/dialect';
import type { SqlRow, SqlStatement, SqlValue } from '../database/sql-connection';
import type { Page } from '../kinds/record-page';
import type { RecordCodec } from '../records/record-codec';
import { recordTextSql, type ShownMember } from '../records/record-text';
import { HEAD_COLUMN, pageParts, type PageSource, SIZE_COLUMN, type SizedRequest, TOTAL_COLUMN } from './page-query';

/** Separates records in one text: JSON contains no control character, as strings escape them. */
const SEPARATOR = '\u001e';

/** A page with its records as JSON text, which a response shows as it is. */
export interface WrittenPage extends Omit<Page<never>, 'rows'> {
  /** The records, separated by commas. */
  readonly text: string;
  /** The position of the last record in the list; null if the page is empty. */
  readonly last: number | null;
}

/** Records as a statement has written them: one more than the page has if others follow. */
export interface WrittenRows {
  readonly texts: readonly string[];
  readonly positions: readonly number[];
  /** Bytes of free-form content of each record. */
  readonly sizes: readonly number[];
  /** True if a row holds something that the service never stores, so that its text may not show it. */
  readonly isAltered: boolean;
  /** Total; null if it has to be counted in chunks. */
  readonly total: number | null;
  /** The ledger's last sequence when the records were read. */
  readonly upTo: number;
}

/** SQL that writes the rows of a table as JSON. */
export interface WrittenForm {
  /** SQL of the text of a row. */
  readonly text: string;
  /**
   * Condition for a row that holds something that the service never stores; null if the database refuses such values.
   */
  readonly isAltered: string | null;
  /** Columns to read in addition, for `isSound`. */
  readonly checkedColumns: readonly string[];
  /** False if these values of the checked columns show that the row was altered. */
  readonly isSound: (values: readonly SqlValue[]) => boolean;
}

/** Creates and caches the form of each response. */
export class WrittenForms {
  private readonly forms = new WeakMap<readonly ShownMember[], WrittenForm>();

  constructor(private readonly dialect: Dialect) {}

  /** @param members of the response that shows rows of these columns */
  get(members: readonly ShownMember[], columns: readonly ColumnDefinition[], codec?: RecordCodec): WrittenForm {
    const form = this.forms.get(members) ?? this.make(members, columns, codec);
    this.forms.set(members, form);
    return form;
  }

  private make(
    members: readonly ShownMember[],
    columns: readonly ColumnDefinition[],
    codec: RecordCodec | undefined,
  ): WrittenForm {
    const { storageForms: forms } = this.dialect;
    return {
      text: recordTextSql(members, columns, this.dialect),
      isAltered: forms === null ? null : columns.map((column) => forms.isAltered(column)).join(' OR '),
      checkedColumns: codec?.decisiveColumns ?? [],
      isSound: (values) => codec?.areDecisive(values) ?? true,
    };
  }
}

/** Returns a query for the same page as `pageQuery`, with all its records as text in one row. */
export function writtenPageQuery(
  source: PageSource,
  form: WrittenForm,
  request: SizedRequest,
  dialect: Dialect,
  countedAtOnce: number,
): SqlStatement {
  const { counted, page, parameters } = pageParts(source, request, dialect, countedAtOnce);
  const joined = (value: string, separator: string): string =>
    `string_agg(CAST(${value} AS text), ${parameters.add(separator)})`;
  const { checkedColumns, isAltered } = form;
  const sql =
    `SELECT counted.total AS "${TOTAL_COLUMN}", counted.head AS "${HEAD_COLUMN}", written.* FROM ${counted} AS counted, ` +
    `(SELECT ${joined(form.text, SEPARATOR)} AS "texts", ${joined(quoteName(source.orderColumn), ',')} AS "positions", ` +
    `${joined(quoteName(SIZE_COLUMN), ',')} AS "sizes", ` +
    `${checkedColumns.length === 0 ? 'NULL' : dialect.jsonRows(checkedColumns)} AS "checked", ` +
    `${isAltered === null ? '0' : `max(${isAltered})`} AS "isAltered" FROM (${page}) AS page) AS written`;
  return { sql, parameters: parameters.values };
}

const ALTERED: WrittenRows = { texts: [], positions: [], sizes: [], isAltered: true, total: null, upTo: 0 };

/** Reads the row that `writtenPageQuery` selects. */
export async function readWrittenRows(
  { lists }: Pick<Database, 'lists'>,
  { sql, parameters }: SqlStatement,
  { isSound }: WrittenForm,
): Promise<WrittenRows> {
  try {
    const [row = {}] = await lists.all(sql, parameters);
    return rowsIn(row, isSound);
  } catch (error) {
    // The database could not write a value.
    if (!isFault(error, 'programming')) throw error;
    return ALTERED;
  }
}

function rowsIn(row: SqlRow, isSound: WrittenForm['isSound']): WrittenRows {
  const texts = splitText(row['texts'], SEPARATOR);
  const positions = splitText(row['positions'], ',').map(Number);
  const total = row[TOTAL_COLUMN] ?? null;
  const checked = row['checked'] ?? null;
  const areSound = checked === null || (JSON.parse(String(checked)) as SqlValue[][]).every(isSound);
  return {
    texts,
    positions,
    sizes: splitText(row['sizes'], ',').map(Number),
    isAltered: row['isAltered'] === 1 || !areSound,
    total: total === null ? null : Number(total),
    upTo: Number(row[HEAD_COLUMN] ?? 0),
  };
}

function splitText(text: SqlValue | undefined, separator: string): string[] {
  return typeof text === 'string' ? text.split(separator) : [];
}
