import { canonicalize } from 'json-canonicalize';
import type { JsonValue } from '../json/json-value';

/** The canonical JSON text of a value: RFC 8785 (JSON Canonicalization Scheme). */
export function canonicalJson(value: JsonValue): string {
  return canonicalize(value);
}
