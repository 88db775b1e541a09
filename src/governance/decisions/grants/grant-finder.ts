import { Injectable } from '@nestjs/common';
import { SYSTEM_CALLER } from '../../../ledger/caller';
import type { LedgerTransaction } from '../../../ledger/ledger-transaction';
import { RecordReader } from '../../../ledger/reading/record-reader';
import type { Condition } from '../../../ledger/record-page';
import { arraysOfOne } from '../../../ledger/records/statements';
import { requirePresent } from '../../../core/errors/domain-error';
import type { Agent } from '../../agents/agent.entity';
import type { ApprovalRequirement } from '../../policies/approval/approval-requirement';
import { type CountedAgent, EXECUTION, type Execution } from '../../executions/execution.entity';
import { actionHash } from '../../executions/execution-rules';
import { decodedPath } from '../../policies/patterns/resources';
import { DECISION } from '../decision.entity';
import { rejectionEnd } from '../decision-rules';
import { countedAgents, countedReviews, denyingReview } from '../reviewers';
import { ActivePolicies } from '../../policies/active-policies';
import { type Grant, GRANT } from './grant.entity';
import {
  givingReviews,
  type CoverageRequest,
  holds,
  isWider,
  type GrantWithReviews,
  meeting,
  parametersHashOf,
} from './grant-rules';

/** The newest rejections of an agent's action that are looked at. */
const MOST_REJECTED = 100;
const OF_REJECTED = ['resourceId', 'onBehalfOf', 'actionHash', 'decisionId'] as const;
/** Grants read at once. */
const CHUNK = 1_000;

/** Something that finds decisions and agents: a command's transaction, or the reader. */
type Records = Pick<LedgerTransaction, 'find'>;

/** A rejected execution, as far as it is compared. */
export type Rejected = Pick<Execution, (typeof OF_REJECTED)[number]>;

/** A grant that serves a request, and the reviewers that counted for it or were passed over. */
export interface CoveringGrant {
  readonly grant: Grant;
  readonly approvers: readonly CountedAgent[];
}

/** Finds the grant that serves a request. */
@Injectable()
export class GrantFinder {
  /** Answers depend on these records, even if the caller may not see them. */
  private readonly reader: Records = { find: (kind, id) => this.records.find(kind, id, SYSTEM_CALLER) };

  constructor(
    private readonly policies: ActivePolicies,
    private readonly records: RecordReader,
  ) {}

  /** The oldest that holds; null if none does. */
  async findCovering(
    transaction: LedgerTransaction,
    asked: CoverageRequest,
    requirement: ApprovalRequirement,
  ): Promise<CoveringGrant | null> {
    const { agentId, action, resourceType } = asked;
    const active = await transaction.findAll(GRANT, { agentId, action, resourceType, status: 'active' });
    const all = active.map((grant) => ({ grant }));
    const { now } = transaction;
    const known: GrantWithReviews[] = [];
    const hash = parametersHashOf(asked.parameters);
    for (const { grant } of meeting(all, asked, hash, now)) known.push(await knownGrant(transaction, grant));
    let rejected: Promise<readonly Rejected[]> | undefined;
    return this.firstServing(known, requirement, now, async (grant) => {
      // Rejections of exactly this action were considered before grants.
      if (!isWider(grant)) return false;
      rejected ??= transaction.findNewest(EXECUTION, OF_REJECTED, rejectedLike(asked), MOST_REJECTED);
      return this.isRejected(await rejected, asked, grant, now, transaction);
    });
  }

  /** Whether a grant that has served a request would still do so. How often it was used does not count. */
  async stillServes(
    transaction: LedgerTransaction,
    grantId: string,
    asked: CoverageRequest,
    requirement: ApprovalRequirement,
  ): Promise<boolean> {
    const grant = await transaction.find(GRANT, grantId);
    const { now } = transaction;
    if (grant === undefined || (grant.status !== 'active' && grant.status !== 'used_up')) return false;
    if (meeting([{ grant }], asked, parametersHashOf(asked.parameters), now).length === 0) return false;
    const known = [await knownGrant(transaction, grant)];
    return (await this.firstServing(known, requirement, now, () => Promise.resolve(false))) !== null;
  }

  /** The active grants of these agents and actions, with what is needed to say whether they hold. */
  async activeOf(agentIds: readonly string[], actions: readonly string[]): Promise<GrantWithReviews[]> {
    const conditions: Condition[] = [
      { column: 'status', comparison: 'equals', value: 'active' },
      { column: 'agentId', comparison: 'nullOrAmong', value: arraysOfOne(agentIds) },
      { column: 'action', comparison: 'nullOrAmong', value: arraysOfOne(actions) },
    ];
    const known: GrantWithReviews[] = [];
    for await (const grants of this.records.chunks(GRANT, conditions, CHUNK, SYSTEM_CALLER))
      known.push(...(await Promise.all(grants.map((grant) => knownGrant(this.reader, grant)))));
    return known;
  }

  /** The newest rejections of an action, as {@link findCovering} looks at them. */
  async rejectionsOf(asked: CoverageRequest): Promise<readonly Rejected[]> {
    const conditions = Object.entries(rejectedLike(asked)).map(([column, value]): Condition => {
      if (value !== null) return { column, comparison: 'equals', value };
      return { column, comparison: 'nullOrAmong', value: arraysOfOne([]) };
    });
    const range = { conditions, order: 'desc', position: null, atOnce: MOST_REJECTED } as const;
    for await (const rejected of this.records.columns(EXECUTION, OF_REJECTED, range, SYSTEM_CALLER)) return rejected;
    return [];
  }

  /**
   * Whether a rejection of the same action is binding. If the grant is for more than was asked for, every spelling of the
   * resource counts: the grant must not let in what a reviewer refused.
   */
  async isRejected(
    rejected: readonly Rejected[],
    asked: CoverageRequest,
    grant: Grant,
    now: string,
    records: Records = this.reader,
  ): Promise<boolean> {
    const comparable = isWider(grant) ? decodedPath : (resourceId: string): string => resourceId;
    const place = comparable(asked.resourceId);
    /** By spelling and roles, which are all in which rejections of the same action differ. */
    const hashes = new Map<string, string>();
    for (const { resourceId, onBehalfOf, actionHash: rejectedHash, decisionId } of rejected) {
      if (decisionId === null || rejectedHash === null || comparable(resourceId) !== place) continue;
      const key = JSON.stringify([resourceId, onBehalfOf]);
      const hash = hashes.get(key) ?? actionHash({ ...asked, resourceId, onBehalfOf });
      hashes.set(key, hash);
      if (hash !== rejectedHash) continue;
      const decision = await records.find(DECISION, decisionId);
      if (decision !== undefined && rejectionEnd(decision) > now) return true;
    }
    return false;
  }

  /** The first of those known, the oldest first, that holds and that no rejection keeps out. */
  async firstServing(
    known: readonly GrantWithReviews[],
    requirement: ApprovalRequirement,
    now: string,
    isRejected: (grant: Grant) => Promise<boolean>,
  ): Promise<CoveringGrant | null> {
    const { riskLevel } = requirement;
    for (const one of known) {
      const { grant, decision, reviewers } = one;
      const isForbidden = (reviewer: Agent): boolean =>
        denyingReview(this.policies, { riskLevel, type: decision.type }, 'approve', reviewer).length > 0;
      if (holds(one, { requirement, now, isForbidden }) && !(await isRejected(grant)))
        return { grant, approvers: countedAgents(reviewers) };
    }
    return null;
  }
}

function rejectedLike({ agentId, action, resourceType, onBehalfOf: principal }: CoverageRequest) {
  return { agentId, action, resourceType, principal, outcome: 'rejected' } as const;
}

async function knownGrant(records: Records, grant: Grant): Promise<GrantWithReviews> {
  const decision = requirePresent(await records.find(DECISION, grant.decisionId), `decision of the grant ${grant.id}`);
  return { grant, decision, reviewers: await countedReviews(records, givingReviews(decision)) };
}
