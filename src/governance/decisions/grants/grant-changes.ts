import { conflict } from '../../../core/errors/domain-error';
import type { EntryNote, LedgerTransaction } from '../../../ledger/ledger-transaction';
import type { DueRecords } from '../../../ledger/due-settlement';
import { EXECUTION, type Execution } from '../../executions/execution.entity';
import { areSameGrants, type GivenGrant, sumOfGrant } from '../../policies/approval/approval-requirement';
import type { Decision } from '../decision.entity';
import { type Grant, GRANT } from './grant.entity';
import { type GrantTerms, MOST_ACTIVE, termsOf } from './grant-rules';

/** Mints what the reviewers of an approved decision gave, if all of them gave the same. @throws CONFLICT at the limit. */
export async function mintGiven(transaction: LedgerTransaction, decision: Decision): Promise<void> {
  const { grant: allowed, reviews, executionId } = decision;
  const given = givenByAll(reviews.map((review) => review.grant));
  const [first] = given;
  if (allowed === null || first === undefined || executionId === null) return;
  if (!given.every((other) => areSameGrants(first, other, allowed))) return;
  if (!(await hasRoom(transaction, decision.proposedBy)))
    throw conflict(
      `At most ${MOST_ACTIVE} grants of an agent are active at a time. Revoke some, or approve without a grant.`,
    );
  const execution = await requiredExecution(transaction, executionId);
  mint(transaction, transaction.newId(GRANT), decision, execution, termsOf(first, allowed, execution, transaction.now));
}

/** None if one of them gave none. */
function givenByAll(grants: readonly (GivenGrant | undefined)[]): GivenGrant[] {
  const given = grants.filter((grant) => grant !== undefined);
  return given.length === grants.length ? given : [];
}

export async function hasRoom(transaction: LedgerTransaction, agentId: string): Promise<boolean> {
  const active = { agentId, status: 'active' } as const;
  if ((await transaction.count(GRANT, active)) < MOST_ACTIVE) return true;
  return (await transaction.count(GRANT, active, { until: transaction.now })) < MOST_ACTIVE;
}

export function mint(
  transaction: LedgerTransaction,
  id: string,
  { id: decisionId }: Pick<Decision, 'id'>,
  { agentId, action, resourceType, resourceId, onBehalfOf }: Execution,
  terms: GrantTerms,
): void {
  const asked = { agentId, action, resourceType, resourceId, onBehalfOf: onBehalfOf?.subject ?? null };
  const record = { id, decisionId, ...asked, ...terms, status: 'active', createdAt: transaction.now } as const;
  const { until, uses } = terms;
  transaction.insert(GRANT, record, { action: 'grant.created', agentId, details: { decisionId, until, uses } });
}

/** Takes one use, under the ledger's lock; the last one ends it. */
export async function takeUse(transaction: LedgerTransaction, grant: Grant): Promise<void> {
  const key = { sum: sumOfGrant(grant.id), window: '', key: '' };
  const [before = '0'] = await transaction.sums([key]);
  const used = Number(before) + 1;
  if (grant.uses !== null && used > grant.uses) throw new Error(`The grant ${grant.id} is used up, and still active.`);
  transaction.keepSum(key, String(used));
  if (used === grant.uses) end(transaction, grant, 'used_up');
}

export function revokeGrant(transaction: LedgerTransaction, grant: Grant, reason: string | null): Grant {
  return end(transaction, grant, 'revoked', { reason });
}

/** Grants that are over. */
export const DUE_GRANTS: DueRecords<Grant> = {
  kind: GRANT,
  settle: (transaction, grant) => {
    if (grant.status === 'active' && grant.until <= transaction.now)
      end(transaction, grant, 'expired', { bySystem: true });
    return Promise.resolve();
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
  const execution = await transaction.find(EXECUTION, id);
  if (execution === undefined) throw new Error(`The execution ${id} of a decision is gone.`);
  return execution;
}
