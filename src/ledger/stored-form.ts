import { isUtf8 } from 'node:buffer';
import type { SqlValue } from '../database/sql-connection';

/** Half of a surrogate pair: UTF-8 cannot hold it, so no text in a database has it. */
const MARK = '\ud800';

/** What `StorageForms.form` tells. What is no text, or a text that is no UTF-8, becomes a text that is equal to no stored one. */
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
