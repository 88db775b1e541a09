/**
 * What a policy says about the actions it matches, weakest first: among policies of equal priority the strongest
 * decides.
 */
export const POLICY_EFFECTS = ['allow', 'require_approval', 'deny'] as const;

export type PolicyEffect = (typeof POLICY_EFFECTS)[number];
