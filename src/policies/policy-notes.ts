import type { EntryNote } from '../ledger/ledger-transaction';
import type { JsonObject } from '../json/json-value';
import type { Policy } from './policy.entity';

/** Every action that changes which policies are in force. */
export const POLICY_ACTIONS = [
  'policy.created',
  'policy.superseded',
  'policy.activated',
  'policy.deactivated',
] as const;
type PolicyAction = (typeof POLICY_ACTIONS)[number];

/**
 * The note of a policy's audit entry: the policy, and the set in force after the commit, which is the same for all
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
