import { conflict, type DomainError } from '../../core/errors/domain-error';
import { sha256 } from '../../ledger/chain/hash-chain';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { endOf } from '../../core/values/duration';
import type { Execution, ExecutionOutcome } from './execution.entity';

/** What an approval is for: if any of these differs, it is another action. */
type ApprovedAction = Pick<
  Execution,
  'agentId' | 'action' | 'resourceType' | 'resourceId' | 'parameters' | 'onBehalfOf'
>;

/** Outcomes that never change again. */
export type FinalOutcome = Exclude<ExecutionOutcome, 'authorized' | 'running' | 'pending_approval' | 'approved'>;

const OPEN_OUTCOMES: ReadonlySet<ExecutionOutcome> = new Set(['pending_approval', 'running']);

/** Hex SHA-256 of the RFC 8785 form of what was asked for. */
export function actionHash(asked: ApprovedAction): string {
  const { agentId, action, resourceType, resourceId, parameters, onBehalfOf } = asked;
  const principal = onBehalfOf === null ? {} : { onBehalfOf: { ...onBehalfOf } };
  return sha256(canonicalJson({ agentId, action, resourceType, resourceId, parameters, ...principal }));
}

/** Whether waiting makes sense: its next outcome depends on something other than its caller. */
export function isAwaited({ outcome }: Execution): boolean {
  return OPEN_OUTCOMES.has(outcome);
}

/** @param executeWithin how long the approval is valid. */
export function approvedExecution(execution: Execution, executeWithin: string, now: string): Execution {
  return { ...execution, outcome: 'approved', approvedUntil: endOf(executeWithin, now) };
}

export function endedExecution(execution: Execution, outcome: FinalOutcome, now: string): Execution {
  return { ...execution, outcome, completedAt: now };
}

/** True from the moment of `approvedUntil` on. */
export function isApprovalOver(
  { outcome, approvedUntil }: Pick<Execution, 'outcome' | 'approvedUntil'>,
  now: string,
): boolean {
  return outcome === 'approved' && approvedUntil !== null && approvedUntil <= now;
}

/** Why an approval that has not expired cannot be used; null if it can. */
export function resumeConflict({ outcome }: Execution): DomainError | null {
  if (outcome === 'approved') return null;
  return conflict(`The execution is ${outcome}; only one that is approved can be resumed.`);
}

/** Why no result can be reported; null if one can. */
export function resultConflict({ outcome, erased }: Execution): DomainError | null {
  if (erased) return conflict('The contents of the execution were erased; no result is taken any more.');
  if (outcome === 'authorized') return null;
  return conflict(`The execution is ${outcome}; a result can be reported once, and only for one that is authorized.`);
}

/** Why an execution cannot be cancelled; null if it can. */
export function cancelConflict({ outcome }: Execution): DomainError | null {
  if (outcome === 'pending_approval' || outcome === 'approved') return null;
  return conflict(`The execution is ${outcome}; only one that waits for approval or is approved can be cancelled.`);
}
