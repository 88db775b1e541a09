import type { SqlRow } from '../../database/sql-connection';
import { parseInSlices } from '../../json/json-builder';
import type { JsonValue } from '../../json/json-value';
import { Slices } from '../../shared/slices';
import { prepareCanonicalJson } from '../chain/canonical-json';
import type { GovernedRow } from '../record-kind';
import type { RecordCodec } from './record-codec';

/** Characters of JSON above which it is parsed and compared in chunks. */
const LARGE = 16 * 1024;

/**
 * Decodes a row for commands; value and canonical text of large content are prepared in chunks, so that other work is
 * not blocked.
 */
export async function decodeRow(codec: RecordCodec, stored: SqlRow): Promise<GovernedRow> {
  const large = codec.columns.filter(({ name, type }) => type === 'json' && isLarge(stored[name]));
  if (large.length === 0) return codec.decode(stored);
  const slices = Slices.ofWrite();
  const parsed: Record<string, JsonValue> = {};
  for (const { name } of large) {
    const value = await parseInSlices(String(stored[name]), slices);
    if (typeof value === 'object' && value !== null) await prepareCanonicalJson(value, slices);
    parsed[name] = value;
  }
  return codec.decode({ ...stored, ...parsed });
}

function isLarge(value: unknown): boolean {
  return typeof value === 'string' && value.length > LARGE;
}
