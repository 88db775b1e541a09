import type { ColumnDefinition } from '../../database/dialect';
import type { DecisiveForm } from '../record-kind';

/** The decoded value of a column, or what is wrong with the stored one. */
export type ColumnValue = { readonly value: unknown } | { readonly fault: string };

/** Reads the value of a column: SQLite accepts any value in any column, and JSON is text to every database. */
export function columnValue(
  stored: unknown,
  { name, type }: ColumnDefinition,
  form: DecisiveForm | undefined,
): ColumnValue {
  if (stored === null) return { value: null };
  if (type !== 'json') {
    if (typeof stored !== (type === 'integer' ? 'number' : 'string')) return { fault: `holds no ${type} in ${name}` };
    return hasForm(stored, form) ? { value: stored } : { fault: formFault(name, form) };
  }
  const parsed = typeof stored === 'string' ? parsedJson(stored) : { value: stored };
  if (parsed === undefined) return { fault: `holds no JSON in ${name}` };
  return hasForm(parsed.value, form) ? parsed : { fault: formFault(name, form) };
}

function parsedJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

function hasForm(value: unknown, form: DecisiveForm | undefined): boolean {
  if (form === undefined) return true;
  if (form === 'texts') return Array.isArray(value) && value.every((text) => typeof text === 'string');
  return typeof value === 'string' && form.includes(value);
}

function formFault(name: string, form: DecisiveForm | undefined): string {
  return typeof form === 'object' ? `holds none of ${form.join(', ')} in ${name}` : `holds no list of texts in ${name}`;
}
