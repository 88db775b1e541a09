import { invalidField } from '../../../core/errors/domain-error';
import type { JsonObject } from '../../../core/json/json-value';
import { endOf } from '../../../core/values/duration';
import { canonicalJson } from '../../../ledger/chain/canonical-json';
import type { EntryNote, LedgerTransaction } from '../../../ledger/ledger-transaction';
import type { SettlementNote } from '../../executions/execution-approvals';
import { type GivenGrant, excessOf, sumOfApprovals } from '../../policies/approval/approval-requirement';
import { settleDecision } from '../decision-settlement';
import type { Decision } from '../decision.entity';
import { hasRoom, mint, requiredExecution } from './grant-changes';
import { GRANT } from './grant.entity';
import { parametersHashOf } from './grant-rules';

/** What a reviewer who rejects would approve. */
export interface Instead {
  readonly parameters: JsonObject;
  /** Whether the reviewer could have approved the decision. */
  readonly couldApprove: boolean;
}

/** @throws VALIDATION_ERROR when a grant goes beyond what the decision allows. */
export function requireWithin(given: GivenGrant, decision: Decision): void {
  const excess = excessOf(given, decision.grant);
  if (excess !== undefined) throw invalidField(`grant${excess.at}`, excess.message);
}

/** @throws VALIDATION_ERROR unless a reviewer of an execution's decision names other parameters. */
export async function requireOther(
  transaction: LedgerTransaction,
  parameters: JsonObject,
  { executionId }: Decision,
  approverId: string | null,
): Promise<void> {
  if (executionId === null) throw invalidField('instead', 'must be left out: the decision is not about an execution');
  if (approverId === null) throw invalidField('instead', 'must be left out without approverId');
  const execution = await requiredExecution(transaction, executionId);
  if (canonicalJson(execution.parameters) === canonicalJson(parameters))
    throw invalidField('instead.parameters', 'must be other ones than those that were asked for');
}

/**
 * Rejects, and names what would be right. That becomes a grant if this reviewer's approval alone would have been
 * enough, and otherwise a hint. A rejection never fails because there are too many grants.
 */
export async function settleWithInstead(
  transaction: LedgerTransaction,
  rejected: Decision,
  { note, forExecution, instead }: { note: EntryNote; forExecution: SettlementNote; instead: Instead },
): Promise<Decision> {
  const { executionId, executeWithin, approvers, proposedBy } = rejected;
  const { parameters, couldApprove } = instead;
  const isEnough =
    couldApprove && executionId !== null && executeWithin !== null && sumOfApprovals(approvers ?? []) === 1;
  const isGranted = isEnough && (await hasRoom(transaction, proposedBy));
  const grantId = isGranted ? transaction.newId(GRANT) : null;
  const settled = await settleDecision(transaction, rejected, note, {
    ...forExecution,
    instead: { parameters, grantId },
  });
  if (grantId === null || executionId === null || executeWithin === null) return settled;
  const execution = await requiredExecution(transaction, executionId);
  const terms = { resources: null, parametersHash: parametersHashOf(parameters), uses: 1 };
  mint(transaction, grantId, rejected, execution, { ...terms, until: endOf(executeWithin, transaction.now) });
  return settled;
}
