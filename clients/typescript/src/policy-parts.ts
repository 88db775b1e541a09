import type { components } from './openapi.js';

/** What the parts of a policy are called that keep it from matching. */
export const POLICY_PARTS = {
  subject: 'subjects',
  action: 'actions',
  resource: 'resources',
  resourceType: 'resource types',
  conditions: 'conditions',
  onBehalfOf: 'principals',
} as const satisfies Readonly<Record<components['schemas']['PolicyPart'], string>>;
