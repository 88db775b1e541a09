import { isUtf8 } from 'node:buffer';
import type { SqlValue } from '../../database/sql-connection';

/** Half of a surrogate pair: UTF-8 cannot encode it, so no text in a database contains it. */
const MARK = '\ud800';

/**
 * Converts what `StorageForms.form` returns. A value that is not a text, or not valid UTF-8, becomes a text that equals
 * no stored one.
 */
export function storedValue(form: SqlValue): SqlValue {
  if (typeof form !== 'string') return form;
  const [storage, hex = ''] = form.split(':');
  const bytes = Buffer.from(hex, 'hex');
  return storage === 'text' && isUtf8(bytes) ? bytes.toString('utf8') : `${hex}${MARK}`;
}

/** False for values that `storedValue` has marked. */
export function isStoredText(value: SqlValue): value is string {
  return typeof value === 'string' && !value.endsWith(MARK);
}

/** The size of these columns in bytes. Neither database reads the values for it. */
export function sizeSql(columns: readonly string[]): string {
  return ['0', ...columns.map((column) => `COALESCE(octet_length(${column}), 0)`)].join(' + ');
}
