import type { JsonObject } from '../../../core/json/json-value';
import { conflict, invalidField, requirePresent } from '../../../core/errors/domain-error';
import { addDuration } from '../../../core/values/duration';
import { canonicalJson } from '../../../ledger/chain/canonical-json';
import type { DueRecords } from '../../../ledger/due-settlement';
import type { EntryNote, LedgerTransaction, ServiceTransaction } from '../../../ledger/commands/ledger-transaction';
import { EXECUTION, type Execution } from '../../executions/execution.entity';
import type { SettlementNote } from '../../executions/execution-rules';
import { areSameGrants, grantSum, sumOfApprovals } from '../../policies/approval/approval-requirement';
import type { Decision } from '../decision.entity';
import { settleDecision } from '../decision-settlement';
import { type Grant, GRANT } from './grant.entity';
import { type GrantTerms, parametersHashOf, termsOf } from './grant-rules';

/** Most grants of one agent that are active at a time. */
const MAX_ACTIVE_GRANTS = 100;

/**
 * Creates the grant that the reviewers of an approved decision gave, if all of them gave the same. @throws CONFLICT at
 * the limit
 */
export async function mintGiven(transaction: LedgerTransaction, decision: Decision): Promise<void> {
  const { grant: allowed, reviews, executionId } = decision;
  const inputs = reviews.flatMap(({ grant }) => grant ?? []);
  const [first] = inputs;
  if (allowed === null || first === undefined || executionId === null) return;
  if (inputs.length < reviews.length || !inputs.every((other) => areSameGrants(first, other, allowed))) return;
  const execution = await requiredExecution(transaction, executionId);
  if (!(await hasRoom(transaction, execution.agentId)))
    throw conflict(
      `At most ${MAX_ACTIVE_GRANTS} grants of an agent are active at a time. Revoke some, or approve without a grant.`,
    );
  mint(transaction, transaction.newId(GRANT), decision, execution, termsOf(first, allowed, execution, transaction.now));
}

async function hasRoom(transaction: LedgerTransaction, agentId: string): Promise<boolean> {
  const active = { agentId, status: 'active' } as const;
  if ((await transaction.count(GRANT, active)) < MAX_ACTIVE_GRANTS) return true;
  return (await transaction.count(GRANT, active, { until: transaction.now })) < MAX_ACTIVE_GRANTS;
}

function mint(
  transaction: LedgerTransaction,
  id: string,
  { id: decisionId }: Pick<Decision, 'id'>,
  { agentId, action, resourceType, resourceId, onBehalfOf }: Execution,
  terms: GrantTerms,
): void {
  const coverage = { agentId, action, resourceType, resourceId, onBehalfOf: onBehalfOf?.subject ?? null };
  const record = { id, decisionId, ...coverage, ...terms, status: 'active', createdAt: transaction.now } as const;
  const { until, uses } = terms;
  transaction.insert(GRANT, record, { action: 'grant.created', agentId, details: { decisionId, until, uses } });
}

/** Takes one use, under the ledger's lock; the last use ends the grant. */
export async function takeUse(transaction: ServiceTransaction, grant: Grant): Promise<void> {
  const key = grantSum(grant.id);
  const [before = '0'] = await transaction.readSums([key]);
  const used = Number(before) + 1;
  if (grant.uses !== null && used > grant.uses) throw new Error(`The grant ${grant.id} is used up, and still active.`);
  transaction.setSum(key, String(used));
  if (used === grant.uses) end(transaction, grant, 'used_up');
}

export function revokeGrant(transaction: LedgerTransaction, grant: Grant, reason: string | null): Grant {
  return end(transaction, grant, 'revoked', { reason });
}

/** Ends active grants whose time is over. */
export const DUE_GRANTS: DueRecords<Grant> = {
  kind: GRANT,
  settle: (transaction, grant) => {
    if (grant.status === 'active' && grant.until <= transaction.now)
      end(transaction, grant, 'expired', { bySystem: true });
  },
};

const ENDED = { used_up: 'grant.used_up', expired: 'grant.expired', revoked: 'grant.revoked' } as const;

function end(
  transaction: LedgerTransaction,
  grant: Grant,
  status: keyof typeof ENDED,
  added: Pick<EntryNote, 'reason' | 'bySystem'> = {},
): Grant {
  const { agentId, decisionId } = grant;
  const note = { action: ENDED[status], agentId, details: { decisionId }, ...added };
  return transaction.update(GRANT, { ...grant, status }, note);
}

export async function requiredExecution(transaction: LedgerTransaction, id: string): Promise<Execution> {
  return requirePresent(await transaction.find(EXECUTION, id), `execution ${id}`);
}

/** The alternative that a rejecting reviewer would approve. */
export interface Instead {
  readonly parameters: JsonObject;
  /** True if the reviewer could have approved the decision. */
  readonly couldApprove: boolean;
}

/** @throws VALIDATION_ERROR unless a reviewer of an execution's decision names other parameters */
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
    throw invalidField('instead.parameters', 'must differ from the requested parameters');
}

/**
 * Rejects with an alternative. It becomes a grant if this reviewer's approval alone would have been enough, and
 * otherwise a hint. A rejection never fails because there are too many grants.
 */
export async function settleWithInstead(
  transaction: ServiceTransaction,
  rejected: Decision,
  { note, forExecution, instead }: { note: EntryNote; forExecution: SettlementNote; instead: Instead },
): Promise<Decision> {
  const { executionId, executeWithin, approvers, proposedBy } = rejected;
  const { parameters, couldApprove } = instead;
  const isEnough =
    couldApprove && executionId !== null && executeWithin !== null && sumOfApprovals(approvers ?? []) === 1;
  const isGranted = isEnough && proposedBy !== null && (await hasRoom(transaction, proposedBy));
  const grantId = isGranted ? transaction.newId(GRANT) : null;
  const settled = await settleDecision(transaction, rejected, note, {
    ...forExecution,
    instead: { parameters, grantId },
  });
  if (grantId === null || executionId === null || executeWithin === null) return settled;
  const execution = await requiredExecution(transaction, executionId);
  const terms = { resources: null, parametersHash: parametersHashOf(parameters), uses: 1 };
  mint(transaction, grantId, rejected, execution, { ...terms, until: addDuration(executeWithin, transaction.now) });
  return settled;
}
