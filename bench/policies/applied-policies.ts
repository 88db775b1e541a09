import { createHash } from 'node:crypto';
import type { ServerProcess } from '../support/server-process';
import type { Workload } from './workload';

/** Number of policies that one request applies. */
const CHUNK = 500;

/** The hash of the set without policies. */
export const NO_POLICIES = createHash('sha256').update('[]').digest('hex');

/** Brings the policies of a workload into force. */
export async function applyPolicies(service: ServerProcess, workload: Workload): Promise<void> {
  const bodies = policyBodies(workload);
  let base = NO_POLICIES;
  for (let start = 0; start < bodies.length; start += CHUNK) {
    const chunk = { base, policies: bodies.slice(start, start + CHUNK) };
    const answer = (await service.send('POST', '/api/v1/policies/apply', chunk)) as { policySet: string };
    base = answer.policySet;
  }
}

/** Returns the policies as request bodies, without repeated items, which random lists may contain. */
export function policyBodies({ policies }: Workload): { readonly name: string; readonly version: string }[] {
  return policies.map(({ name, version, effect, subjects, actions, resources, resourceTypes, priority }) => ({
    name,
    version,
    effect,
    priority,
    subjects: once(subjects),
    actions: once(actions),
    resources: once(resources),
    resourceTypes: once(resourceTypes),
  }));
}

function once(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
