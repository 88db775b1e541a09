import type { SqlRow } from '../../database/sql-connection';
import { LONG_JSON, StoredJson } from '../../json/stored-json';
import { Slices } from '../../shared/slices';
import type { RecordCodec, StoredRow } from '../records/record-codec';
import type { GovernedRow } from '../record-kind';

/**
 * Decodes rows for an answer in chunks, so that other work is not blocked. Long free-form columns stay as they are
 * stored.
 */
export async function rowsForAnswers(codec: RecordCodec, stored: readonly SqlRow[]): Promise<GovernedRow[]> {
  const { freeForm = [] } = codec.kind;
  const slices = new Slices();
  const rows: GovernedRow[] = [];
  for (const row of stored) {
    rows.push(codec.decode(freeForm.some((name) => isLong(row[name])) ? await withStored(row, freeForm, slices) : row));
    if (slices.areDue) await slices.next();
  }
  return rows;
}

async function withStored(row: SqlRow, columns: readonly string[], slices: Slices): Promise<StoredRow> {
  const kept: Record<string, StoredJson> = {};
  for (const name of columns) {
    const text = row[name];
    if (isLong(text)) kept[name] = await StoredJson.of(text, slices);
  }
  return { ...row, ...kept };
}

function isLong(value: unknown): value is string {
  return typeof value === 'string' && value.length > LONG_JSON;
}
