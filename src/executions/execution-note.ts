import type { EntryNote } from '../ledger/ledger-transaction';
import type { DecidingPolicy } from '../policies/evaluation/evaluation-request';
import type { JsonObject } from '../json/json-value';
import type { Execution } from './execution.entity';

type Named = Pick<Execution, 'agentId' | 'entityId' | 'action' | 'resourceType' | 'resourceId' | 'policies'>;

/** What every audit entry of an execution says: who acted, on what, and which policies decided. */
export function noteOf(execution: Named, action: string): EntryNote & { readonly details: JsonObject } {
  const { agentId, entityId, resourceType, resourceId } = execution;
  return {
    action,
    agentId,
    entityId,
    details: { action: execution.action, resourceType, resourceId, policies: execution.policies.map(referenceOf) },
  };
}

function referenceOf({ id, name, version }: DecidingPolicy): JsonObject {
  return { id, name, version };
}
