import { createHmac } from 'node:crypto';
import { keyOf } from '../signing-secrets';
import { AuditEntryResponse } from '../../audit/dto/audit-entry.response';
import type { AnsweredListedEntry } from '../../../ledger/reading/entry-reader';

/** The signed parts of a delivery, according to the Standard Webhooks specification. */
export interface SignedContent {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: Buffer;
}

/** One signature for each secret, separated by spaces. */
export function signatures(secrets: readonly string[], content: SignedContent): string {
  return secrets.map((secret) => signature(secret, content)).join(' ');
}

function signature(secret: string, { id, timestamp, body }: SignedContent): string {
  const hmac = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(body);
  return `v1,${hmac.digest('base64')}`;
}

/** What is sent of an entry. */
export function bodyOf(entry: AnsweredListedEntry): Buffer {
  const { action: type, timestamp } = entry;
  return Buffer.from(JSON.stringify({ type, timestamp, data: AuditEntryResponse.from(entry) }));
}
