import { isUtf8 } from 'node:buffer';
import type { SqlValue } from '../../database/sql-connection';

/** Half of a surrogate pair: UTF-8 cannot hold it, so no text in a database has it. */
const MARK = '\ud800';

/** What `StorageForms.form` returns. What is not a text, or a text that is not UTF-8, becomes a text that is equal to no stored one. */
export function storedValue(form: SqlValue): SqlValue {
  if (typeof form !== 'string') return form;
  const [storage, hex = ''] = form.split(':');
  const bytes = Buffer.from(hex, 'hex');
  return storage === 'text' && isUtf8(bytes) ? bytes.toString('utf8') : `${hex}${MARK}`;
}

/** False for what `storedValue` has marked. */
export function isStoredText(value: SqlValue): value is string {
  return typeof value === 'string' && !value.endsWith(MARK);
}

/** The bytes of a row in these columns. Neither database reads the values for it. */
export function sizeSql(columns: readonly string[]): string {
  return ['0', ...columns.map((column) => `COALESCE(octet_length(${column}), 0)`)].join(' + ');
}
