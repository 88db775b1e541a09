import type { SqlRow } from '../../database/sql-connection';
import { LONG_JSON, StoredJson } from '../../json/stored-json';
import { Slices } from '../../shared/slices';
import type { RecordCodec, StoredRow } from '../records/record-codec';
import type { GovernedRow } from '../record-kind';

/** Decoding this many rows takes less than a slice, unless they are large. */
const FEW = 10;
/** Most characters of JSON that so few rows may have together to be decoded at once. */
const FEW_CHARACTERS = 64 * 1024;

/**
 * Decodes rows for an answer. Long free-form columns stay as they are stored. Many rows, or long ones, are decoded in
 * chunks, so that other work is not blocked.
 */
export function rowsForAnswers(
  codec: RecordCodec,
  stored: readonly SqlRow[],
): readonly GovernedRow[] | Promise<readonly GovernedRow[]> {
  return isLittle(codec, stored) ? stored.map((row) => codec.decode(row)) : decodedInSlices(codec, stored);
}

function isLittle(codec: RecordCodec, stored: readonly SqlRow[]): boolean {
  if (stored.length > FEW || stored.some((row) => hasLong(row, codec))) return false;
  return stored.reduce((size, row) => size + codec.sizeOf(row), 0) <= FEW_CHARACTERS;
}

async function decodedInSlices(codec: RecordCodec, stored: readonly SqlRow[]): Promise<readonly GovernedRow[]> {
  const slices = new Slices();
  const rows: GovernedRow[] = [];
  for (const row of stored) {
    rows.push(codec.decode(hasLong(row, codec) ? await withStored(row, codec, slices) : row));
    if (slices.areDue) await slices.next();
  }
  return rows;
}

function hasLong(row: SqlRow, { kind: { freeForm = [] } }: RecordCodec): boolean {
  return freeForm.some((name) => isLong(row[name]));
}

async function withStored(row: SqlRow, { kind }: RecordCodec, slices: Slices): Promise<StoredRow> {
  const kept: Record<string, StoredJson> = {};
  for (const name of kind.freeForm ?? []) {
    const text = row[name];
    if (isLong(text)) kept[name] = await StoredJson.of(text, slices);
  }
  return { ...row, ...kept };
}

function isLong(value: unknown): value is string {
  return typeof value === 'string' && value.length > LONG_JSON;
}
