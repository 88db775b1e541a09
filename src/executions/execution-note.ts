import type { EntryNote } from '../ledger/ledger-transaction';
import type { DecidingPolicy } from '../policies/evaluation/evaluation-request';
import type { JsonObject } from '../json/json-value';
import type { Execution } from './execution.entity';

type Named = Pick<
  Execution,
  'agentId' | 'entityId' | 'action' | 'resourceType' | 'resourceId' | 'policies' | 'decisionId'
>;

/**
 * What every audit entry of an execution says: who acted, on what, which policies decided, and which decision it
 * depends on.
 */
export function noteOf(execution: Named, action: string): EntryNote & { readonly details: JsonObject } {
  const { agentId, entityId, resourceType, resourceId, decisionId } = execution;
  const policies = execution.policies.map(referenceOf);
  return {
    action,
    agentId,
    entityId,
    details: {
      action: execution.action,
      resourceType,
      resourceId,
      policies,
      ...(decisionId !== null && { decisionId }),
    },
  };
}

/** The same for what policies decided, with the set that was in force. */
export function decidedNote(execution: Named, action: string, policySet: string): EntryNote {
  const note = noteOf(execution, action);
  return { ...note, details: { policySet, ...note.details } };
}

const OUTCOME_ACTIONS = {
  approved: 'execution.approved',
  rejected: 'execution.rejected',
  expired: 'execution.expired',
  cancelled: 'execution.cancelled',
} as const;

/** An outcome that follows from an approval. */
export type ApprovalOutcome = keyof typeof OUTCOME_ACTIONS;

/** The entry of an execution whose outcome changes because of its approval: named after the outcome. */
export function outcomeNote(execution: Execution, outcome: ApprovalOutcome, reason: string | null = null): EntryNote {
  return { ...noteOf(execution, OUTCOME_ACTIONS[outcome]), reason };
}

function referenceOf({ id, name, version }: DecidingPolicy): JsonObject {
  return { id, name, version };
}
