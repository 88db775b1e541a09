import { Injectable } from '@nestjs/common';
import { type Agent, AGENT } from '../../agents/agent.entity';
import { ApproverGroups, areFilled, fillableBy, type FillableGroups } from '../../policies/approval/approver-groups';
import { approvalsOf, fillableGroups, hasSignedGroup, isExpired, isOpen, selfApproval } from '../decision-rules';
import type { Decision } from '../decision.entity';
import { suspension } from '../../agents/find-agent';
import { Configuration } from '../../../core/config/configuration';
import { found } from '../../../core/errors/domain-error';
import type { Caller } from '../../../ledger/caller';
import { LedgerService } from '../../../ledger/ledger.service';
import { RecordReader } from '../../../ledger/reading/record-reader';
import type { Condition, PageRequest } from '../../../ledger/record-page';
import { Turn } from '../../../core/concurrency/turn';
import { PasskeyHolders } from '../../passkeys/passkey-holders';
import { DECISION } from '../decision.kind';
import { ReviewPolicies } from '../reviewers';

/** Why an agent could not approve a decision, in order of precedence. */
export const INABILITIES = ['proposer', 'suspended', 'reviewed', 'no_passkey', 'policy_denied'] as const;
export type Inability = (typeof INABILITIES)[number];

/** A decision without its free-form content. */
export type OpenDecision = Pick<
  Decision,
  'type' | 'proposedBy' | 'riskLevel' | 'status' | 'reviews' | 'expiresAt' | 'executionId' | 'approvers'
>;

/** What else the check depends on. */
export interface AbilityTerms {
  /** From the configuration. */
  readonly mayApproveOwn: boolean;
  /** Whether the agent that proposed the decision is suspended: then nobody can approve it. */
  readonly isProposerSuspended: boolean;
  /** Whether it could fill no group, for want of a passkey. */
  readonly lacksPasskey: boolean;
  readonly isForbidden: () => boolean;
}

/** The first reason why an eligible agent cannot approve; null if there is none. */
export function inability(
  decision: OpenDecision,
  { id, status }: Pick<Agent, 'id' | 'status'>,
  { mayApproveOwn, isProposerSuspended, lacksPasskey, isForbidden }: AbilityTerms,
): Inability | null {
  if (selfApproval(decision, 'approve', id, mayApproveOwn) !== null) return 'proposer';
  if (status !== 'active' || isProposerSuspended) return 'suspended';
  if (decision.reviews.some(({ approverId }) => approverId === id)) return 'reviewed';
  if (lacksPasskey) return 'no_passkey';
  return isForbidden() ? 'policy_denied' : null;
}

/**
 * Whether a decision would be approved if these agents approved it as well.
 * @param able for each agent, the groups it can approve for.
 */
export function isFeasible(
  { approvers, requiredApprovals, reviews }: Pick<Decision, 'approvers' | 'requiredApprovals' | 'reviews'>,
  able: readonly FillableGroups[],
): boolean {
  if (approvers === null) return approvalsOf(reviews) + able.length >= requiredApprovals;
  return areFilled(approvers, [...fillableGroups(reviews), ...able]);
}

/** Agents examined at once. */
const CHUNK = 1_000;
/** Most approvers examined to decide whether a decision can still be approved. */
const MOST_ASKED = 10_000;
const ACTIVE: Condition = { column: 'status', comparison: 'equals', value: 'active' };
const PERSON: Condition = { column: 'kind', comparison: 'equals', value: 'human' };

type ListedAgent = Pick<Agent, 'id' | 'name' | 'kind' | 'roles' | 'status'>;

/** An eligible approver of a decision. */
export interface DecisionApprover {
  readonly agent: Pick<Agent, 'id' | 'name' | 'kind'>;
  /** Indexes of the groups that it can approve for. */
  readonly groups: FillableGroups;
  readonly able: boolean;
  readonly why: Inability | null;
}

export interface DecisionApprovers {
  readonly approvers: readonly DecisionApprover[];
  readonly total: number;
  /** Whether the decision can still be approved; null: there are too many approvers to tell. */
  readonly feasible: boolean | null;
}

/** An agent that belongs to a group. */
interface Candidate {
  readonly agent: ListedAgent;
  readonly groups: FillableGroups;
  /** Those of its groups that it could fill now: signed ones only with a passkey. */
  readonly fillable: FillableGroups;
}

/** Lists who can approve a decision, and whether they are enough. */
@Injectable()
export class DecisionApproversService {
  constructor(
    private readonly records: RecordReader,
    private readonly ledger: LedgerService,
    private readonly policies: ReviewPolicies,
    private readonly holders: PasskeyHolders,
    private readonly configuration: Configuration,
  ) {}

  /**
   * @param leaving aborted when nobody waits for the answer any more.
   * @throws NOT_FOUND
   */
  async of(
    caller: Caller,
    decisionId: string,
    { limit, offset }: Pick<PageRequest, 'limit' | 'offset'>,
    leaving: AbortSignal,
  ): Promise<DecisionApprovers> {
    const decision = found(await this.records.find(DECISION, decisionId, caller), 'decision');
    const judge = await this.judgeOf(decision);
    const shown: DecisionApprover[] = [];
    const able: FillableGroups[] = [];
    const turn = new Turn();
    let total = 0;
    for await (const found of this.candidates(decision, leaving)) {
      if (turn.isOver) await turn.next();
      total += 1;
      const isShown = total > offset && shown.length < limit;
      if (!isShown && total > MOST_ASKED) continue;
      const approver = judge(found);
      if (isShown) shown.push(approver);
      if (approver.able && total <= MOST_ASKED) able.push(found.fillable);
    }
    const isEnough = this.canBeDecided(decision) && isFeasible(decision, able);
    const isKnown = isEnough || total <= MOST_ASKED || !this.canBeDecided(decision);
    return { approvers: shown, total, feasible: isKnown ? isEnough : null };
  }

  /** The agents that match a group; without groups, every active agent. */
  private async *candidates(decision: Decision, leaving: AbortSignal): AsyncGenerator<Candidate> {
    const { approvers } = decision;
    const groups = approvers === null ? null : new ApproverGroups(approvers);
    const conditions = groups === null ? [ACTIVE] : groups.areOfPeople ? [PERSON] : [];
    const range = { conditions, order: 'asc', position: null, atOnce: CHUNK } as const;
    for await (const agents of this.records.columns(AGENT, ['name', 'kind', 'roles', 'status'], range)) {
      leaving.throwIfAborted();
      const found = agents.map((agent) => ({ agent, groups: groups?.of(agent) ?? [] }));
      const matching = groups === null ? found : found.filter((one) => one.groups.length > 0);
      const signing = hasSignedGroup(decision)
        ? await this.holders.among(matching.map(({ agent }) => agent.id))
        : new Set();
      for (const one of matching)
        yield { ...one, fillable: fillableBy(signing.has(one.agent.id), one.groups, approvers ?? []) };
    }
  }

  private async judgeOf(decision: Decision): Promise<(candidate: Candidate) => DecisionApprover> {
    const proposer = await this.records.find(AGENT, decision.proposedBy);
    const isProposerSuspended = proposer !== undefined && suspension(proposer) !== null;
    const { allowSelfApproval: mayApproveOwn } = this.configuration;
    const isOver = !this.canBeDecided(decision);
    return ({ agent, groups, fillable }) => {
      const isForbidden = (): boolean => this.policies.denying(decision, 'approve', agent).length > 0;
      const lacksPasskey = groups.length > 0 && fillable.length === 0;
      const terms: AbilityTerms = { mayApproveOwn, isProposerSuspended, lacksPasskey, isForbidden };
      const why = inability(decision, agent, terms);
      return { agent, groups, able: why === null && !isOver, why };
    };
  }

  private canBeDecided(decision: Decision): boolean {
    return isOpen(decision) && !isExpired(decision, this.ledger.now);
  }
}
