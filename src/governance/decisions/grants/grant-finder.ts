import { Injectable } from '@nestjs/common';
import { yieldBetween } from '../../../core/concurrency/time-slice';
import type { JsonObject } from '../../../core/json/json-value';
import { SYSTEM_CALLER } from '../../../ledger/kinds/caller';
import type { LedgerTransaction } from '../../../ledger/commands/ledger-transaction';
import { RecordReader } from '../../../ledger/reading/record-reader';
import type { Condition } from '../../../ledger/kinds/record-page';
import { arraysOfOne } from '../../../ledger/records/statements';
import { requirePresent } from '../../../core/errors/domain-error';
import type { Agent } from '../../agents/agent.entity';
import type { ApprovalRequirement } from '../../policies/approval/approval-requirement';
import { type CountedAgent, EXECUTION, type Execution } from '../../executions/execution.entity';
import { actionHasher } from '../../executions/execution-rules';
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
  coveringGrants,
  parametersHashOf,
} from './grant-rules';

/** Most rejections of an agent's action that are examined, the newest first. */
const MAX_REJECTED_GRANTS = 100;
const OF_REJECTED = ['resourceId', 'onBehalfOf', 'actionHash', 'decisionId'] as const;
/** Number of grants read at once. */
const CHUNK = 1_000;

/** Something that finds decisions and agents: a command's transaction, or the reader. */
type Records = Pick<LedgerTransaction, 'find'>;

/** Members of a rejected execution that are compared with a request. */
type RejectedExecution = Pick<Execution, (typeof OF_REJECTED)[number]>;

/** A grant that covers a request, with the reviewers who counted for it or were passed over. */
export interface CoveringGrant {
  readonly grant: Grant;
  readonly approvers: readonly CountedAgent[];
}

/** A request for which a policy requires an approval. */
export interface RequirementToCover {
  readonly request: CoverageRequest;
  readonly requirement: ApprovalRequirement;
}

/** Finds the grant that covers a request. */
@Injectable()
export class GrantFinder {
  /** Results depend on these records, even if the caller may not see them. */
  private readonly reader: Records = { find: (kind, id) => this.records.find(kind, id, SYSTEM_CALLER) };

  constructor(
    private readonly policies: ActivePolicies,
    private readonly records: RecordReader,
  ) {}

  /** Finds the oldest valid grant that covers the request; null if there is none. */
  async findCovering(
    transaction: LedgerTransaction,
    request: CoverageRequest,
    requirement: ApprovalRequirement,
  ): Promise<CoveringGrant | null> {
    const { agentId, action, resourceType } = request;
    const active = await transaction.findAll(GRANT, { agentId, action, resourceType, status: 'active' });
    const all = active.map((grant) => ({ grant }));
    const { now } = transaction;
    const candidates: GrantWithReviews[] = [];
    const hash = parametersHashOf(request.parameters);
    for (const { grant } of coveringGrants(all, request, hash, now))
      candidates.push(await withReviews(transaction, grant));
    let rejected: Promise<readonly RejectedExecution[]> | undefined;
    const hashOf = actionHasher(request);
    return this.firstCovering(candidates, requirement, now, async (grant) => {
      // Rejections of exactly this action were considered before grants.
      if (!isWider(grant)) return false;
      rejected ??= transaction.findNewest(EXECUTION, OF_REJECTED, rejectionColumns(request), MAX_REJECTED_GRANTS);
      return this.isRejected(await rejected, { request, hashOf }, grant, now, transaction);
    });
  }

  /** True if a grant that was used for a request would cover it today; the number of uses left does not count. */
  async stillCovers(
    transaction: LedgerTransaction,
    grantId: string,
    request: CoverageRequest,
    requirement: ApprovalRequirement,
  ): Promise<boolean> {
    const grant = await transaction.find(GRANT, grantId);
    const { now } = transaction;
    if (grant === undefined || (grant.status !== 'active' && grant.status !== 'used_up')) return false;
    if (coveringGrants([{ grant }], request, parametersHashOf(request.parameters), now).length === 0) return false;
    const candidates = [await withReviews(transaction, grant)];
    return (await this.firstCovering(candidates, requirement, now, () => Promise.resolve(false))) !== null;
  }

  /**
   * Returns, for each request, the grant that a command would find; null if there is none. Reads nothing if there is no
   * request.
   * @param now ISO 8601
   */
  async findCoveringAmong(
    requests: readonly (RequirementToCover | null)[],
    now: string,
  ): Promise<readonly (CoveringGrant | null)[]> {
    const grants = await this.loadActive(requests.flatMap((item) => item?.request ?? []));
    const rejections = new Map<string, readonly RejectedExecution[]>();
    /** Hashes of parameters: the requests of a list may share default parameters, which may be long. */
    const hashes = new Map<JsonObject, string>();
    const results: (CoveringGrant | null)[] = [];
    for await (const item of yieldBetween(requests)) {
      if (item === null || grants.length === 0) {
        results.push(null);
        continue;
      }
      const { request, requirement } = item;
      const hash = hashes.get(request.parameters) ?? parametersHashOf(request.parameters);
      hashes.set(request.parameters, hash);
      const hashOf = actionHasher(request);
      const isRejected = async (grant: Grant): Promise<boolean> => {
        const key = JSON.stringify(rejectionColumns(request));
        const rejected = rejections.get(key) ?? (await this.loadRejections(request));
        rejections.set(key, rejected);
        return this.isRejected(rejected, { request, hashOf }, grant, now);
      };
      results.push(await this.firstCovering(coveringGrants(grants, request, hash, now), requirement, now, isRejected));
    }
    return results;
  }

  /** Loads the active grants of these agents and actions, with the records that show whether they still hold. */
  private async loadActive(requests: readonly CoverageRequest[]): Promise<GrantWithReviews[]> {
    if (requests.length === 0) return [];
    const conditions: Condition[] = [
      { column: 'status', comparison: 'equals', value: 'active' },
      {
        column: 'agentId',
        comparison: 'nullOrAmong',
        value: arraysOfOne(new Set(requests.map(({ agentId }) => agentId))),
      },
      {
        column: 'action',
        comparison: 'nullOrAmong',
        value: arraysOfOne(new Set(requests.map(({ action }) => action))),
      },
    ];
    const candidates: GrantWithReviews[] = [];
    for await (const grants of this.records.chunks(GRANT, conditions, CHUNK, SYSTEM_CALLER))
      candidates.push(...(await Promise.all(grants.map((grant) => withReviews(this.reader, grant)))));
    return candidates;
  }

  /** Loads the newest rejections of an action that {@link findCovering} examines. */
  private async loadRejections(request: CoverageRequest): Promise<readonly RejectedExecution[]> {
    const conditions = Object.entries(rejectionColumns(request)).map(([column, value]): Condition => {
      if (value !== null) return { column, comparison: 'equals', value };
      return { column, comparison: 'nullOrAmong', value: arraysOfOne([]) };
    });
    const range = { conditions, order: 'desc', position: null, atOnce: MAX_REJECTED_GRANTS } as const;
    for await (const rejected of this.records.columns(EXECUTION, OF_REJECTED, range, SYSTEM_CALLER)) return rejected;
    return [];
  }

  /**
   * True if a rejection of the same action is binding. If the grant covers more than the request, every spelling of the
   * resource counts: the grant must not admit what a reviewer refused.
   */
  private async isRejected(
    rejected: readonly RejectedExecution[],
    { request, hashOf }: ComparedRequest,
    grant: Grant,
    now: string,
    records: Records = this.reader,
  ): Promise<boolean> {
    const comparable = isWider(grant) ? decodedPath : (resourceId: string): string => resourceId;
    const requestedPath = comparable(request.resourceId);
    for (const { resourceId, onBehalfOf, actionHash: rejectedHash, decisionId } of rejected) {
      if (decisionId === null || rejectedHash === null || comparable(resourceId) !== requestedPath) continue;
      // Executions of the same action differ only in the spelling of the resource and the roles of the principal.
      if (hashOf({ resourceId, onBehalfOf }) !== rejectedHash) continue;
      const decision = await records.find(DECISION, decisionId);
      if (decision !== undefined && rejectionEnd(decision) > now) return true;
    }
    return false;
  }

  /** Returns the oldest candidate that holds and that no rejection excludes. */
  private async firstCovering(
    candidates: readonly GrantWithReviews[],
    requirement: ApprovalRequirement,
    now: string,
    isRejected: (grant: Grant) => Promise<boolean>,
  ): Promise<CoveringGrant | null> {
    const { riskLevel } = requirement;
    for (const candidate of candidates) {
      const { grant, decision, reviewers } = candidate;
      const isForbidden = (reviewer: Agent): boolean =>
        denyingReview(this.policies, { riskLevel, type: decision.type }, 'approve', reviewer).length > 0;
      if (holds(candidate, { requirement, now, isForbidden }) && !(await isRejected(grant)))
        return { grant, approvers: countedAgents(reviewers) };
    }
    return null;
  }
}

/** A request that is compared with rejections, each with its own spelling and roles, for several grants. */
interface ComparedRequest {
  readonly request: CoverageRequest;
  readonly hashOf: ReturnType<typeof actionHasher>;
}

/** Returns the members that rejected executions of the requested action have. */
function rejectionColumns({ agentId, action, resourceType, onBehalfOf: principal }: CoverageRequest) {
  return { agentId, action, resourceType, principal, outcome: 'rejected' } as const;
}

async function withReviews(records: Records, grant: Grant): Promise<GrantWithReviews> {
  const decision = requirePresent(await records.find(DECISION, grant.decisionId), `decision of the grant ${grant.id}`);
  return { grant, decision, reviewers: await countedReviews(records, givingReviews(decision)) };
}
