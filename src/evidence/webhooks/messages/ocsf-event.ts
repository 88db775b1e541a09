import type { JsonObject } from '../../../core/json/json-value';
import type { ParsedListedEntry } from '../../../ledger/reading/entry-reader';
import type { AuditEntryResponse } from '../../audit/dto/audit-entry.response';

/** Numbers of the class API Activity and its category, Application Activity. */
const CATEGORY = 6;
const CLASS = 6_003;
const OCSF_VERSION = '1.2.0';
const PRODUCT = { name: 'agent-governance-service', vendor_name: 'agent-governance-service' };
const OTHER_ACTIVITY = 99;
/** Meanings in OCSF of the last word of an action. */
const ACTIVITIES: Readonly<Record<string, number>> = {
  created: 1,
  added: 1,
  proposed: 1,
  updated: 3,
  suspended: 3,
  resumed: 3,
  reviewed: 3,
  approved: 3,
  rejected: 3,
  deleted: 4,
  removed: 4,
  revoked: 4,
  erased: 4,
};
const SEVERITIES: Readonly<Record<string, number>> = { success: 1, denied: 3, failed: 3 };

/** The hashes of an entry, in hex. */
export type EntrySeal = Pick<ParsedListedEntry, 'auditHash' | 'hash' | 'previousHash'>;

type OcsfSource = Omit<AuditEntryResponse, 'sequence'> & { readonly sequence?: number } & Partial<EntrySeal>;

/** Returns an audit entry as an event of the Open Cybersecurity Schema Framework; a test message has no seal. */
export function ocsfEvent(entry: OcsfSource): JsonObject {
  const { id, sequence, timestamp, action, actor, outcome, reason, requestId, ip, subjectType, subjectId } = entry;
  const { agentId, entityId, details, auditHash, hash, previousHash } = entry;
  const activity = ACTIVITIES[action.split('.').at(-1) ?? ''] ?? OTHER_ACTIVITY;
  const time = Date.parse(timestamp);
  return {
    category_uid: CATEGORY,
    class_uid: CLASS,
    type_uid: CLASS * 100 + activity,
    time,
    activity_id: activity,
    activity_name: action,
    severity_id: SEVERITIES[outcome] ?? 1,
    status_id: outcome === 'success' ? 1 : 2,
    status: outcome,
    ...(reason !== null && { status_detail: reason }),
    metadata: {
      version: OCSF_VERSION,
      product: PRODUCT,
      uid: id,
      original_time: timestamp,
      log_name: 'audit',
      ...(sequence !== undefined && { sequence }),
    },
    actor: { user: { uid: actor.id, type: actor.type, type_id: OTHER_ACTIVITY } },
    api: { operation: action, ...(requestId !== null && { request: { uid: requestId } }) },
    src_endpoint: ip === null ? { svc_name: PRODUCT.name } : { ip },
    resources: [{ uid: subjectId, type: subjectType }],
    unmapped: { agentId, entityId, details, ...(hash !== undefined && { auditHash, hash, previousHash }) },
  };
}
