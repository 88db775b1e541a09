import type { RecordKind } from '../../ledger/record-kind';
import { RISK_LEVELS } from '../../core/config/variables/governance-variables';
import { CAN_EXPIRE, Decision, DECISION_STATUSES, type Review, type Verdict } from './decision.entity';
import type { JsonObject } from '../../core/json/json-value';
import type { EntryNote } from '../../ledger/ledger-transaction';
import type { DecidingPolicy } from '../policies/evaluation/evaluation';
import { approvalsOf } from './decision-rules';

/** How the ledger keeps decisions. The hashed members are frozen. */
export const DECISION: RecordKind<Decision> = {
  subjectType: 'decision',
  idPrefix: 'dec',
  table: Decision,
  hashedMembers: [
    'id',
    'type',
    'title',
    'description',
    'context',
    'proposedBy',
    'riskLevel',
    'status',
    'requiredApprovals',
    'reviews',
    'expiresAt',
    'createdAt',
    'updatedAt',
    'resolvedAt',
  ],
  laterMembers: {
    executionId: null,
    actionHash: null,
    approvers: null,
    executeWithin: null,
    erased: false,
    traceId: null,
    grant: null,
  },
  repeats: { table: 'executions', by: 'executionId', columns: ['onBehalfOf', 'run'] },
  counter: 'decisions',
  freeForm: ['context'],
  due: { timeColumn: 'expiresAt', where: CAN_EXPIRE },
  visibility: { allWith: ['read', 'review'], agentColumn: 'proposedBy' },
  countedBy: ['status', 'riskLevel', 'type', 'proposedBy'],
  decisive: { status: DECISION_STATUSES, riskLevel: RISK_LEVELS },
};

const DENIED_ACTION = { approve: 'decision.approval_denied', reject: 'decision.rejection_denied' } as const;
const SETTLED_ACTION = { proposed: 'decision.reviewed', approved: 'decision.approved', rejected: 'decision.rejected' };

export function proposedNote({
  proposedBy,
  riskLevel,
  requiredApprovals,
}: Omit<Decision, 'createdSequence'>): EntryNote {
  return { action: 'decision.proposed', agentId: proposedBy, details: { riskLevel, requiredApprovals } };
}

/** What a review was admitted by: the `rules` of the policies in force, and the approver as it was, if one is named. */
interface ReviewBasis extends JsonObject {
  readonly rules: string;
  readonly approverRevision: number | null;
}

/** The entry of a review, named after its effect. */
export function reviewNote(decision: Decision, { verdict, approverId }: Review, basis: ReviewBasis): EntryNote {
  const { status, requiredApprovals, reviews } = decision;
  if (status === 'expired' || status === 'cancelled') throw new Error(`A review cannot make a decision ${status}.`);
  return {
    action: SETTLED_ACTION[status],
    agentId: approverId,
    details: { verdict, approvals: approvalsOf(reviews), requiredApprovals, ...basis },
  };
}

export function deniedReviewNote(
  verdict: Verdict,
  approverId: string | null,
  reason: string | null,
  policies: readonly DecidingPolicy[],
): EntryNote {
  const details: JsonObject = { verdict, policies: policies.map(({ id, name, version }) => ({ id, name, version })) };
  return { action: DENIED_ACTION[verdict], agentId: approverId, outcome: 'denied', reason, details };
}

/** Cancelled by its proposer, or by a caller that is not bound to an agent. */
export function cancelledNote({ proposedBy, reviews, requiredApprovals }: Decision, reason: string | null): EntryNote {
  const details = { approvals: approvalsOf(reviews), requiredApprovals };
  return { action: 'decision.cancelled', agentId: proposedBy, reason, details };
}
