import type { EntryNote } from '../ledger/ledger-transaction';
import type { JsonObject } from '../json/json-value';
import type { Policy } from './policy.entity';

type PolicyAction = 'policy.created' | 'policy.superseded' | 'policy.activated' | 'policy.deactivated';

/** What the audit entry of a policy says: which policy it is about. */
export function noteOn(
  policy: Pick<Policy, 'id' | 'name' | 'version'>,
  action: PolicyAction,
  more: JsonObject = {},
): EntryNote {
  const { id, name, version } = policy;
  return { action, details: { policies: [{ id, name, version }], ...more } };
}
