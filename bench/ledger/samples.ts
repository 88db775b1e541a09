import type { CreatePolicyRequest } from '../../src/governance/policies/dto/policy.dto';
import { SAMPLE_REQUEST } from '../http/sample-entity';

/** Number of records that are created beforehand, for commands that refer to records. */
export const POOL = 1_000;

export const ENTITY = SAMPLE_REQUEST;

export const CLAIM = {
  predicate: 'data_classification',
  value: 'confidential',
  context: { confidence: 0.95, source: 'data-catalogue' },
};

export const AGENT = {
  description: 'Sends invoices that were approved.',
  capabilities: ['send-invoice', 'read-invoice'],
  roles: ['billing'],
};

export const DECISION = {
  type: 'deployment',
  title: 'Deploy release 4.2 of the payment gateway',
  description: 'Rolls out the new fraud checks.',
  context: { change: 'CHG-1042' },
  riskLevel: 'high',
} as const;

export const EXECUTION = {
  action: 'send-invoice',
  resourceType: 'document',
  resourceId: 'invoices/2026/1042',
  parameters: { recipient: 'customer-7', copies: 1 },
};

const DECIDING = {
  name: 'billing-may-invoice',
  version: '1.0',
  effect: 'allow',
  subjects: ['role:billing'],
  actions: ['send-invoice'],
  resources: ['invoices/*'],
  priority: 10,
} as const;

/**
 * Changes that keep a policy from deciding: another resource, another action, another subject, or a lower priority. The
 * policy still shares the other members with the request.
 */
const OTHERS: readonly ((index: number) => Partial<CreatePolicyRequest>)[] = [
  (index) => ({ resources: [`contracts/${index}/*`] }),
  (index) => ({ actions: [`archive-${index}`] }),
  (index) => ({ subjects: [`role:team-${index}`] }),
  () => ({ subjects: ['*'], actions: ['*'], resources: ['*'], priority: 1 }),
];

/** Policies, however many, of which only the first decides on the sample execution. */
export function policies(count: number): CreatePolicyRequest[] {
  return Array.from({ length: count }, (_, index) => {
    const change = index === 0 ? {} : OTHERS[index % OTHERS.length]?.(index);
    return { ...DECIDING, ...change, ...(index > 0 && { name: `policy-${index}` }) };
  });
}
