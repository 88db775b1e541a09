import type { JsonObject } from '../../../core/json/json-value';
import { conflict, type DomainError, invalidField, present } from '../../../core/errors/domain-error';
import { endOf } from '../../../core/values/duration';
import { canonicalJson } from '../../../ledger/chain/canonical-json';
import { sha256 } from '../../../ledger/chain/hash-chain';
import type { Agent } from '../../agents/agent.entity';
import {
  type ApprovalRequirement,
  sumOfApprovals,
  areSameGrants,
  excessOf,
  type GivenGrant,
  type GrantAllowance,
  lengthOf,
  sumOfGrant,
} from '../../policies/approval/approval-requirement';
import { areFilled, fillableBy, groupsOf } from '../../policies/approval/approver-groups';
import { matchesAsAllow } from '../../policies/patterns/resources';
import type { Decision, Review } from '../decision.entity';
import type { CountedReview } from '../reviewers';
import { type Grant, GRANT } from './grant.entity';
import type { EntryNote, LedgerTransaction } from '../../../ledger/ledger-transaction';
import type { DueRecords } from '../../../ledger/due-settlement';
import { EXECUTION, type Execution } from '../../executions/execution.entity';
import type { SettlementNote } from '../../executions/execution-rules';
import { settleDecision } from '../decision-settlement';

/** Most grants of one agent that are active at a time. */
export const MOST_ACTIVE = 100;
/** Most grants that are looked at for one request: the oldest that meet it. */
const MOST_TRIED = 20;

/** What an agent asks for, on whose behalf. */
export interface GrantedAction {
  readonly agentId: string;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters: JsonObject;
  /** A subject. */
  readonly onBehalfOf: string | null;
}

/** What a grant is good for, and how long. */
export type GrantTerms = Pick<Grant, 'resources' | 'parametersHash' | 'until' | 'uses'>;

/** A grant with the decision that gave it, and its reviewers. */
export interface KnownGrant {
  readonly grant: Grant;
  readonly decision: Decision;
  readonly reviewers: readonly CountedReview[];
}

/** What is required of a grant today. */
export interface TodaysTerms {
  readonly requirement: ApprovalRequirement;
  /** ISO 8601. */
  readonly now: string;
  /** Whether a policy denies an agent to approve this now. */
  readonly isForbidden: (reviewer: Agent) => boolean;
}

export function parametersHashOf(parameters: JsonObject): string {
  return sha256(canonicalJson(parameters));
}

/** What comes of a grant that all reviewers gave. */
export function termsOf(
  given: GivenGrant,
  { uses }: GrantAllowance,
  { parameters }: Pick<GrantedAction, 'parameters'>,
  now: string,
): GrantTerms {
  return {
    resources: given.resources,
    parametersHash: given.parameters === 'any' ? null : parametersHashOf(parameters),
    until: endOf(given.for, now),
    uses: given.uses ?? uses,
  };
}

/** Those that meet the request and are not over, the oldest first. @param grants the oldest first */
export function meeting(grants: readonly Grant[], asked: GrantedAction, now: string): Grant[] {
  const hash = parametersHashOf(asked.parameters);
  return grants.filter((grant) => grant.until > now && meets(grant, asked, hash)).slice(0, MOST_TRIED);
}

/** The same of those with their decisions. */
export function meetingKnown(known: readonly KnownGrant[], asked: GrantedAction, now: string): KnownGrant[] {
  const grants = known.map(({ grant }) => grant);
  const met = new Set(meeting(grants, asked, now));
  return known.filter(({ grant }) => met.has(grant));
}

function meets(grant: Grant, asked: GrantedAction, hash: string): boolean {
  const { agentId, action, resourceType, resourceId, onBehalfOf } = asked;
  return (
    grant.agentId === agentId &&
    grant.action === action &&
    grant.resourceType === resourceType &&
    grant.onBehalfOf === onBehalfOf &&
    (grant.parametersHash ?? hash) === hash &&
    (grant.resources === null
      ? grant.resourceId === resourceId
      : matchesAsAllow(grant.resources, { resourceType, resourceId }))
  );
}

/** Whether its reviewers could give it today, its uses aside. */
export function holds({ grant, decision, reviewers }: KnownGrant, terms: TodaysTerms): boolean {
  const { now, isForbidden } = terms;
  const { approvers, grant: allowed } = terms.requirement;
  // A grant made with a rejection is its reviewer's own choice: no policy has to allow it.
  if (decision.status === 'approved' && !isWithin(grant, allowed, now)) return false;
  const counting = reviewers.filter(({ agent }) => agent.status === 'active' && !isForbidden(agent));
  return areFilled(
    approvers,
    counting.map(({ agent, isSigned }) => fillableBy(isSigned, groupsOf(agent, approvers), approvers)),
  );
}

function isWithin(
  { createdAt, uses, resources, parametersHash }: Grant,
  allowed: GrantAllowance | undefined,
  now: string,
): boolean {
  if (allowed === undefined) return false;
  const age = Date.parse(now) - Date.parse(createdAt);
  return (
    age <= lengthOf(allowed.for) &&
    (allowed.uses === null || (uses !== null && uses <= allowed.uses)) &&
    (allowed.wider || !isWider({ resources, parametersHash }))
  );
}

/** Whether it is for more than was asked for. */
export function isWider({ resources, parametersHash }: Pick<Grant, 'resources' | 'parametersHash'>): boolean {
  return resources !== null || parametersHash === null;
}

/** The reviews that gave it: those that approved, or the rejection that named what would be right. */
export function givingReviews({ reviews }: Pick<Decision, 'reviews'>): readonly Review[] {
  const rejection = reviews.filter(({ verdict }) => verdict === 'reject');
  return rejection.length > 0 ? rejection : reviews;
}

/** Why it cannot be revoked; null if it can. */
export function revocationConflict({ status }: Grant): DomainError | null {
  return status === 'active'
    ? null
    : conflict(`The grant is ${status} already; only one that is active can be revoked.`);
}

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
  return present(await transaction.find(EXECUTION, id), `execution ${id}`);
}

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
