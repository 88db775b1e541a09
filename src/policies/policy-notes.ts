import type { EntryNote } from '../ledger/ledger-transaction';
import type { JsonObject } from '../json/json-value';
import type { Policy } from './policy.entity';

/** All that changes which policies are in force. */
export const POLICY_ACTIONS = [
  'policy.created',
  'policy.superseded',
  'policy.activated',
  'policy.deactivated',
] as const;
type PolicyAction = (typeof POLICY_ACTIONS)[number];

/**
 * What the audit entry of a policy says: which policy it is about, and which set is in force after the commit, one for all
 * entries of a request.
 */
export function noteOn(
  policy: Pick<Policy, 'id' | 'name' | 'version'>,
  action: PolicyAction,
  more: JsonObject & { readonly policySet: string },
): EntryNote {
  const { id, name, version } = policy;
  return { action, details: { policies: [{ id, name, version }], ...more } };
}
