import { Injectable } from '@nestjs/common';
import { type Agent, AGENT } from '../agents/agent.entity';
import { findAgent } from '../agents/find-agent';
import { AgentCache } from '../agents/agents.service';
import { Configuration } from '../../core/config/configuration';
import { yieldBetween, TimeSlice } from '../../core/concurrency/time-slice';
import { callerRefused, requireFound } from '../../core/errors/domain-error';
import { type Caller, SYSTEM_CALLER } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { Condition, Page, PageRequest } from '../../ledger/record-page';
import { arraysOfOne } from '../../ledger/records/statements';
import { onlyAgentSeen } from '../../ledger/records/visibility';
import { PasskeyHolders } from '../passkeys/passkeys.service';
import { ApproverGroups, fillableBy, type FillableGroups } from '../policies/approval/approver-groups';
import {
  areEnough,
  decisionResource,
  fillableGroups,
  hasSignedGroup,
  isExpired,
  isDecisionOpen,
  selfApproval,
} from './decision-rules';
import { type Decision, DECISION } from './decision.entity';
import type { ApproverListResponse, ApproverResponse, Inability } from './dto/decision.response';
import { denyingReview } from './reviewers';
import { ActivePolicies } from '../policies/active-policies';

/** What the judgement of a decision depends on. */
export const JUDGED = [
  ...(['type', 'proposedBy', 'riskLevel', 'status', 'reviews', 'expiresAt', 'executionId', 'approvers'] as const),
] satisfies readonly (keyof Decision)[];
export type OpenDecision = Pick<Decision, (typeof JUDGED)[number]>;

type ListedAgent = Pick<Agent, 'id' | 'name' | 'kind' | 'roles' | 'status'>;

/** Whether an agent could approve a decision now. */
export type Judge = (agent: ListedAgent, decision: OpenDecision) => boolean;

/** An agent that belongs to a group of approvers; any agent if the decision names no groups. */
interface Candidate {
  readonly agent: ListedAgent;
  readonly groups: FillableGroups;
  /** Those of its groups that it could fill now: signed ones only with a passkey. */
  readonly fillable: FillableGroups;
}

/** The result of a search: the sequences of the page's rows and of the one after it. */
interface SearchPage {
  readonly places: readonly number[];
  readonly total: number;
}

/** Agents, and decisions, read at once. */
const AGENTS = 1_000;
const DECISIONS = 500;
/** Most approvers examined to decide whether a decision can still be approved. */
const MOST_ASKED = 10_000;
/** Most chunks of agents read to tell whether a request that was just made can be approved. */
const MOST_CHUNKS = MOST_ASKED / AGENTS;
const ACTIVE: Condition = { column: 'status', comparison: 'equals', value: 'active' };
const PERSON: Condition = { column: 'kind', comparison: 'equals', value: 'human' };
const PROPOSED: Condition = { column: 'status', comparison: 'equals', value: 'proposed' };
const NOTHING: Page<Decision> = { rows: [], total: 0, more: false };

/** Finds who can approve a decision, and which decisions wait for an agent. */
@Injectable()
export class Approvers {
  constructor(
    private readonly records: RecordReader,
    private readonly ledger: LedgerService,
    private readonly policies: ActivePolicies,
    private readonly holders: PasskeyHolders,
    private readonly agents: AgentCache,
    private readonly configuration: Configuration,
  ) {}

  /**
   * Who can approve a decision, and whether they are enough.
   * @param signal aborted when nobody waits for the answer any more.
   * @throws NOT_FOUND
   */
  async list(
    caller: Caller,
    decisionId: string,
    { limit, offset }: Pick<PageRequest, 'limit' | 'offset'>,
    signal: AbortSignal,
  ): Promise<ApproverListResponse> {
    const decision = requireFound(await this.records.find(DECISION, decisionId, caller), 'decision');
    const canBeDecided = isDecisionOpen(decision) && !isExpired(decision, this.ledger.now);
    await this.policies.catchUp(this.agents.memory);
    const shown: ApproverResponse[] = [];
    const able: FillableGroups[] = [];
    const turn = new TimeSlice();
    let total = 0;
    for await (const { agent, groups, fillable } of this.candidates(decision, signal)) {
      if (turn.isOver) await turn.next();
      total += 1;
      const isShown = total > offset && shown.length < limit;
      if (!isShown && total > MOST_ASKED) continue;
      const isForbidden = (): boolean => denyingReview(this.policies, decision, 'approve', agent).length > 0;
      const why = this.inability(decision, { agent, groups, fillable }, isForbidden);
      const { id: agentId, name, kind } = agent;
      if (isShown) shown.push({ agentId, name, kind, groups, able: why === null && canBeDecided, why });
      if (why === null && total <= MOST_ASKED) able.push(fillable);
    }
    const isEnough = canBeDecided && areEnough(decision, [...fillableGroups(decision.reviews), ...able]);
    const isKnown = isEnough || total <= MOST_ASKED || !canBeDecided;
    return { data: shown, total, feasible: isKnown ? isEnough : null };
  }

  /**
   * True if the agents that can approve a decision are too few for it; false if they are enough, or if the first agents
   * read do not tell: this is for an answer that must not wait long.
   */
  async isUnfillable(decisionId: string, signal: AbortSignal): Promise<boolean> {
    const decision = requireFound(await this.records.find(DECISION, decisionId, SYSTEM_CALLER), 'decision');
    if (!isDecisionOpen(decision) || isExpired(decision, this.ledger.now)) return false;
    await this.policies.catchUp(this.agents.memory);
    const able: FillableGroups[] = fillableGroups(decision.reviews);
    /** Agents that fill the same groups count alike: at most as many of them are compared as there are approvals. */
    const counts = new Map<string, number>();
    let chunks = 0;
    for await (const candidates of this.candidateChunks(decision, signal)) {
      chunks += 1;
      if (chunks > MOST_CHUNKS) return false;
      for await (const candidate of yieldBetween(candidates)) {
        const key = candidate.fillable.join(' ');
        const count = counts.get(key) ?? 0;
        if (count === decision.requiredApprovals) continue;
        const isForbidden = (): boolean =>
          denyingReview(this.policies, decision, 'approve', candidate.agent).length > 0;
        if (this.inability(decision, candidate, isForbidden) !== null) continue;
        counts.set(key, count + 1);
        able.push(candidate.fillable);
        if (areEnough(decision, able)) return false;
      }
    }
    return true;
  }

  /**
   * The decisions that an agent could approve now. No index answers that, so proposed decisions are examined one by one, up to
   * the end of the page; for the first page, to the end of the list to count them.
   * @throws PERMISSION_DENIED when the caller may see nothing of that agent.
   */
  async listAwaiting(caller: Caller, idOrName: string, request: PageRequest): Promise<Page<Decision>> {
    const agent = await findAgent(this.records, idOrName);
    // Whoever sees only its own decisions may learn nothing of what others could approve.
    const onlyAgent = onlyAgentSeen(DECISION, caller);
    if (onlyAgent !== null && agent?.id !== onlyAgent) throw callerRefused('not_this_agent');
    if (agent?.status !== 'active') return NOTHING;
    const { limit, order } = request;
    const { places, total } = await this.search(caller, agent, request);
    const shown = places.slice(0, limit);
    if (shown.length === 0) return { ...NOTHING, total };
    const conditions = [{ column: 'createdSequence', comparison: 'among', value: arraysOfOne(shown) } as const];
    const among = { conditions, limit, offset: 0, order, position: null, total: 0 } as const;
    // The search has already applied the caller's visibility.
    const page = await this.records.page(DECISION, among, SYSTEM_CALLER);
    return { rows: page.rows, total, totalOf: onlyAgent, more: page.more || places.length > limit };
  }

  /** Makes a judge for these agents, to be asked for with each chunk of decisions: it reads who has a passkey once that matters. */
  judging(agents: readonly ListedAgent[]): (decisions: readonly OpenDecision[]) => Promise<Judge> {
    let signing: ReadonlySet<string> | null = null;
    /** By agent, and by what policies see of a decision, which many share. */
    const forbidden = new Map<string, boolean>();
    const judge: Judge = (agent, decision) => {
      const { approvers } = decision;
      if (isExpired(decision, this.ledger.now)) return false;
      const groups = approvers === null ? [] : new ApproverGroups(approvers).groupsFor(agent);
      if (approvers !== null && groups.length === 0) return false;
      const fillable = fillableBy(signing?.has(agent.id) === true, groups, approvers ?? []);
      const isForbidden = (): boolean => {
        const key = `${agent.id} ${decisionResource(decision)}`;
        const known = forbidden.get(key) ?? denyingReview(this.policies, decision, 'approve', agent).length > 0;
        forbidden.set(key, known);
        return known;
      };
      return this.inability(decision, { agent, groups, fillable }, isForbidden) === null;
    };
    return async (decisions) => {
      await this.policies.catchUp(this.agents.memory);
      if (decisions.some(hasSignedGroup)) signing ??= await this.holders.among(agents.map(({ id }) => id));
      return judge;
    };
  }

  private async search(caller: Caller, agent: Agent, request: PageRequest): Promise<SearchPage> {
    const { limit, order, position } = request;
    // A total found for a caller who sees other decisions is not reused.
    const known = (request.totalOf ?? null) === onlyAgentSeen(DECISION, caller) ? request.total : null;
    const conditions = [...request.conditions, PROPOSED];
    const range = { conditions, order, position: known === null ? null : position, atOnce: DECISIONS };
    const places: number[] = [];
    const judgeOf = this.judging([agent]);
    let total = 0;
    let toSkip = request.offset;
    for await (const decisions of this.records.columns(DECISION, JUDGED, range, caller)) {
      const couldApprove = await judgeOf(decisions);
      for await (const decision of yieldBetween(decisions)) {
        request.signal?.throwIfAborted();
        if (!couldApprove(agent, decision)) continue;
        total += 1;
        if (!isBeyond(decision.createdSequence, position, order)) continue;
        if (toSkip > 0) toSkip -= 1;
        else if (places.length <= limit) places.push(decision.createdSequence);
        else if (known !== null) return { places, total: known };
      }
    }
    return { places, total: known ?? total };
  }

  private async *candidates(decision: Decision, signal: AbortSignal): AsyncGenerator<Candidate> {
    for await (const candidates of this.candidateChunks(decision, signal)) yield* candidates;
  }

  /** The agents that match a group, for each chunk of agents read; without groups, every active agent. */
  private async *candidateChunks(decision: Decision, signal: AbortSignal): AsyncGenerator<Candidate[]> {
    const { approvers } = decision;
    const groups = approvers === null ? null : new ApproverGroups(approvers);
    const inGroups = groups?.areOfPeople === true ? [PERSON] : [];
    const conditions = groups === null ? [ACTIVE] : inGroups;
    const range = { conditions, order: 'asc', position: null, atOnce: AGENTS } as const;
    for await (const agents of this.records.columns(AGENT, ['name', 'kind', 'roles', 'status'], range)) {
      signal.throwIfAborted();
      const all = agents.map((agent) => ({ agent, groups: groups?.groupsFor(agent) ?? [] }));
      const matching = groups === null ? all : all.filter((one) => one.groups.length > 0);
      const ids = hasSignedGroup(decision) ? matching.map(({ agent }) => agent.id) : [];
      const signing = await this.holders.among(ids);
      yield matching.map((one) => ({
        ...one,
        fillable: fillableBy(signing.has(one.agent.id), one.groups, approvers ?? []),
      }));
    }
  }

  /** The first reason why an eligible agent cannot approve; null if there is none. */
  private inability(
    decision: OpenDecision,
    { agent: { id, status }, groups, fillable }: Candidate,
    isForbidden: () => boolean,
  ): Inability | null {
    if (selfApproval(decision, 'approve', id, this.configuration.allowSelfApproval) !== null) return 'proposer';
    if (status !== 'active' || this.agents.isSuspended(decision.proposedBy)) return 'suspended';
    if (decision.reviews.some(({ approverId }) => approverId === id)) return 'reviewed';
    if (groups.length > 0 && fillable.length === 0) return 'no_passkey';
    return isForbidden() ? 'policy_denied' : null;
  }
}

function isBeyond(sequence: number, position: number | null, order: PageRequest['order']): boolean {
  return position === null || (order === 'asc' ? sequence > position : sequence < position);
}
