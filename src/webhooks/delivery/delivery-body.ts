import { AuditEntryResponse } from '../../audit/dto/audit-entry.response';
import { jsonParts } from '../../http/answers/json-parts';
import type { AnsweredListedEntry } from '../../ledger/reading/entry-reader';

/** What is sent of an entry. */
export function bodyOf(entry: AnsweredListedEntry): Buffer {
  const data = [...jsonParts(AuditEntryResponse.from(entry))].join('');
  const [type, timestamp] = [JSON.stringify(entry.action), JSON.stringify(entry.timestamp)];
  return Buffer.from(`{"type":${type},"timestamp":${timestamp},"data":${data}}`);
}
