import type { components } from './openapi.js';

/** Names, for people, of the parts that keep a policy from matching. */
export const POLICY_PARTS = {
  subject: 'subjects',
  action: 'actions',
  resource: 'resources',
  resourceType: 'resource types',
  conditions: 'conditions',
  onBehalfOf: 'principals',
} as const satisfies Readonly<Record<components['schemas']['PolicyPart'], string>>;
