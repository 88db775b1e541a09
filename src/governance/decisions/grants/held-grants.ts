import { Injectable } from '@nestjs/common';
import { SYSTEM_CALLER } from '../../../ledger/caller';
import type { LedgerTransaction } from '../../../ledger/ledger-transaction';
import type { GovernedRow, RecordKind } from '../../../ledger/record-kind';
import { RecordReader } from '../../../ledger/reading/record-reader';
import type { Condition } from '../../../ledger/record-page';
import { arraysOfOne } from '../../../ledger/records/statements';
import { type Agent, AGENT } from '../../agents/agent.entity';
import type { ApprovalRequirement } from '../../policies/approval/approval-requirement';
import { type CountedAgent, EXECUTION, type Execution } from '../../executions/execution.entity';
import { decodedPath } from '../../policies/patterns/resources';
import { DECISION } from '../decision.kind';
import { rejectionEnd } from '../decision-rules';
import { ReviewPolicies } from '../reviewers';
import { type Grant, GRANT } from './grant.entity';
import {
  givingReviews,
  type GrantedAction,
  type GrantReviewer,
  holds,
  isWider,
  type KnownGrant,
  meeting,
  parametersHashOf,
} from './grant-rules';

/** The newest rejections of an agent's action that are looked at. */
const MOST_REJECTED = 100;
const OF_REJECTED = ['resourceId', 'parameters', 'principal', 'decisionId'] as const;
/** Grants read at once. */
const CHUNK = 1_000;

/** Something that finds decisions and agents: a command's transaction, or the reader. */
interface Records {
  find<Row extends GovernedRow>(kind: RecordKind<Row>, id: string): Promise<Row | undefined>;
}

/** A rejected execution, as far as it is compared. */
export type Rejected = Pick<Execution, (typeof OF_REJECTED)[number]>;

/** A grant that serves a request, and the reviewers that counted for it or were passed over. */
export interface ServingGrant {
  readonly grant: Grant;
  readonly approvers: readonly CountedAgent[];
}

/** Finds the grant that serves a request. */
@Injectable()
export class HeldGrants {
  /** Answers depend on these records, even if the caller may not see them. */
  private readonly reader: Records = { find: (kind, id) => this.records.find(kind, id, SYSTEM_CALLER) };

  constructor(
    private readonly policies: ReviewPolicies,
    private readonly records: RecordReader,
  ) {}

  /** The oldest that holds; null if none does. */
  async serving(
    transaction: LedgerTransaction,
    asked: GrantedAction,
    requirement: ApprovalRequirement,
  ): Promise<ServingGrant | null> {
    const { agentId, action, resourceType } = asked;
    const active = await transaction.findAll(GRANT, { agentId, action, resourceType, status: 'active' });
    const known: KnownGrant[] = [];
    for (const grant of meeting(active, asked, transaction.now)) known.push(await knownGrant(transaction, grant));
    const serving = this.firstHolding(known, requirement, transaction.now);
    if (serving === null || !isWider(serving.grant)) return serving;
    // What equals it was looked at before grants.
    const where = { agentId, action, resourceType, principal: asked.onBehalfOf, outcome: 'rejected' } as const;
    const rejected = await transaction.findNewest(EXECUTION, OF_REJECTED, where, MOST_REJECTED);
    return (await isOneBinding(transaction, alike(rejected, asked), transaction.now)) ? null : serving;
  }

  /** Whether a grant that has served a request would still do so, its uses aside. */
  async stillServes(
    transaction: LedgerTransaction,
    grantId: string,
    asked: GrantedAction,
    requirement: ApprovalRequirement,
  ): Promise<boolean> {
    const grant = await transaction.find(GRANT, grantId);
    const { now } = transaction;
    if (grant === undefined || (grant.status !== 'active' && grant.status !== 'used_up')) return false;
    if (meeting([grant], asked, now).length === 0) return false;
    return this.firstHolding([await knownGrant(transaction, grant)], requirement, now) !== null;
  }

  /** Of agents and actions, the active grants with all that is needed to say whether they hold. */
  async activeOf(agentIds: readonly string[], actions: readonly string[]): Promise<KnownGrant[]> {
    const conditions: Condition[] = [
      { column: 'status', comparison: 'equals', value: 'active' },
      { column: 'agentId', comparison: 'nullOrAmong', value: arraysOfOne(agentIds) },
      { column: 'action', comparison: 'nullOrAmong', value: arraysOfOne(actions) },
    ];
    const known: KnownGrant[] = [];
    for await (const grants of this.records.chunks(GRANT, conditions, CHUNK, SYSTEM_CALLER))
      known.push(...(await Promise.all(grants.map((grant) => knownGrant(this.reader, grant)))));
    return known;
  }

  /** The newest rejections of an action. */
  async rejectionsOf({ agentId, action, resourceType }: GrantedAction): Promise<readonly Rejected[]> {
    const columns = Object.entries({ agentId, action, resourceType, outcome: 'rejected' });
    const conditions = columns.map(([column, value]) => ({ column, comparison: 'equals', value }) as const);
    const range = { conditions, order: 'desc', position: null, atOnce: MOST_REJECTED } as const;
    for await (const rejected of this.records.columns(EXECUTION, OF_REJECTED, range, SYSTEM_CALLER)) return rejected;
    return [];
  }

  /** Whether one of them is still binding for what a grant would serve otherwise. */
  async isRejected(
    rejected: readonly Rejected[],
    asked: GrantedAction,
    { grant }: ServingGrant,
    now: string,
  ): Promise<boolean> {
    const same = alike(rejected, asked);
    const compared = isWider(grant) ? same : same.filter(({ resourceId }) => resourceId === asked.resourceId);
    return isOneBinding(this.reader, compared, now);
  }

  /** @param known the oldest first */
  firstHolding(known: readonly KnownGrant[], requirement: ApprovalRequirement, now: string): ServingGrant | null {
    const { riskLevel } = requirement;
    const found = known.find((one) => {
      const { type } = one.decision;
      const isForbidden = (reviewer: Agent): boolean =>
        this.policies.denying({ riskLevel, type }, 'approve', reviewer).length > 0;
      return holds(one, { requirement, now, isForbidden });
    });
    if (found === undefined) return null;
    const approvers = found.reviewers.map(({ agent: { id, revision } }) => ({ agentId: id, revision }));
    return { grant: found.grant, approvers };
  }
}

/**
 * The rejections of the same, in whichever spelling of the resource: what a reviewer refused must not come in by a grant for more
 * than was asked for.
 */
function alike(rejected: readonly Rejected[], asked: GrantedAction): Rejected[] {
  const path = decodedPath(asked.resourceId);
  const parameters = parametersHashOf(asked.parameters);
  return rejected.filter(
    (one) =>
      one.principal === asked.onBehalfOf &&
      decodedPath(one.resourceId) === path &&
      parametersHashOf(one.parameters) === parameters,
  );
}

async function isOneBinding(records: Records, rejected: readonly Rejected[], now: string): Promise<boolean> {
  for (const { decisionId } of rejected) {
    const decision = decisionId === null ? undefined : await records.find(DECISION, decisionId);
    if (decision !== undefined && rejectionEnd(decision) > now) return true;
  }
  return false;
}

async function knownGrant(records: Records, grant: Grant): Promise<KnownGrant> {
  const decision = await records.find(DECISION, grant.decisionId);
  if (decision === undefined) throw new Error(`The decision of the grant ${grant.id} is gone.`);
  const reviewers: GrantReviewer[] = [];
  for (const { approverId, signature } of givingReviews(decision)) {
    const agent = approverId === null ? undefined : await records.find(AGENT, approverId);
    if (agent !== undefined) reviewers.push({ agent, isSigned: signature !== undefined });
  }
  return { grant, decision, reviewers };
}
