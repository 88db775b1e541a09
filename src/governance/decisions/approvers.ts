import { Injectable } from '@nestjs/common';
import { type Agent, AGENT } from '../agents/agent.entity';
import { findNamedAgent } from '../agents/find-agent';
import { isInReach } from '../agents/team';
import { ActiveDelegations } from '../delegations/active-delegations';
import type { Delegation } from '../delegations/delegation.entity';
import { AgentCache } from '../agents/agents.service';
import { Configuration } from '../../core/config/configuration';
import { yieldBetween, TimeSlice } from '../../core/concurrency/time-slice';
import { callerRefused, requireFound } from '../../core/errors/domain-error';
import { type Caller, SYSTEM_CALLER } from '../../ledger/kinds/caller';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { Condition, Page, PageRequest } from '../../ledger/kinds/record-page';
import { arraysOfOne } from '../../ledger/records/statements';
import { onlyAgentSeen, visibleRows } from '../../ledger/records/visibility';
import { PasskeyHolders } from '../passkeys/passkeys.service';
import { ApproverGroups, fillableBy, type FillableGroups } from '../policies/approval/approver-groups';
import {
  areEnough,
  decisionResource,
  type Delegators,
  fillableGroups,
  hasSignedGroup,
  isExpired,
  isDecisionOpen,
  isReviewed,
  selfApproval,
  substituteFault,
} from './decision-rules';
import { AbleReviewers } from './able-reviewers';
import { mayDecide } from './changes/change';
import { emergencyTimes } from './changes/emergencies';
import { type Decision, DECISION } from './decision.entity';
import type { ApproverListResponse, ApproverResponse, Inability } from './dto/decision.response';
import { delegatorsOf, denyingReview } from './reviewers';
import { ActivePolicies } from '../policies/active-policies';

/** Members on which the judgement of a decision depends. */
export const JUDGED = [
  ...(['type', 'proposedBy', 'riskLevel', 'status', 'reviews', 'expiresAt', 'executionId', 'approvers'] as const),
  ...(['change', 'context', 'onBehalfOf'] as const),
] satisfies readonly (keyof Decision)[];
type OpenDecision = Pick<Decision, (typeof JUDGED)[number]>;
/** A decision with its place in the list and its time. */
export type JudgedDecision = OpenDecision & Pick<Decision, 'createdSequence' | 'createdAt'>;

type ListedAgent = Pick<Agent, 'id' | 'name' | 'kind' | 'roles' | 'status' | 'createdAt' | 'team'>;

/** Decides whether an agent could approve a decision now. */
export type Judge = (agent: ListedAgent, decision: OpenDecision) => boolean;

/** Finds the people in whose place an agent could approve a decision now; itself alone if it could in its own. */
type PlaceSearch = (agent: ListedAgent, decision: OpenDecision) => readonly string[];

/** A decision that an agent could approve now. */
export interface AwaitedDecision extends Decision {
  /** The people in whose place the agent could, by delegations; absent if it could in its own place. */
  readonly inPlaceOf?: readonly string[];
}

/** An agent that may review: in its own place, or by a delegation in that of another person. */
interface Reviewer {
  readonly agent: ListedAgent;
  readonly place: ListedAgent;
  /** Null if the reviewer reviews in its own place. */
  readonly delegation: Delegation | null;
}

/** A reviewer whose place belongs to a group of approvers; any reviewer if the decision names no groups. */
interface Candidate extends Reviewer {
  readonly groups: FillableGroups;
  /** Groups that the agent could fill now; signed ones only with a passkey. */
  readonly fillable: FillableGroups;
}

/** The result of a search. */
interface SearchPage {
  /** Maps the sequences of the page's rows, and of the next row, to the ids in whose place the agent could approve. */
  readonly places: ReadonlyMap<number, readonly string[]>;
  readonly total: number;
}

/** Most agents, and decisions, read at once. */
const MAX_AGENTS = 1_000;
const MAX_DECISIONS = 500;
/** Most approvers examined to decide whether a decision can still be approved. */
const MAX_APPROVERS = 10_000;
/** Most chunks of agents read to find out whether a new request can be approved. */
const MAX_CHUNKS = MAX_APPROVERS / MAX_AGENTS;
const ACTIVE: Condition = { column: 'status', comparison: 'equals', value: 'active' };
const PERSON: Condition = { column: 'kind', comparison: 'equals', value: 'human' };
const PROPOSED: Condition = { column: 'status', comparison: 'equals', value: 'proposed' };
const NOTHING: Page<AwaitedDecision> = { rows: [], total: 0, more: false };

/** Finds who can approve a decision, and which decisions wait for an agent. */
@Injectable()
export class Approvers {
  /** Results depend on these records, even if the caller may not see them. */
  private readonly reader: Pick<LedgerTransaction, 'find'> = {
    find: (kind, id) => this.records.find(kind, id, SYSTEM_CALLER),
  };

  constructor(
    private readonly records: RecordReader,
    private readonly ledger: LedgerService,
    private readonly policies: ActivePolicies,
    private readonly holders: PasskeyHolders,
    private readonly agents: AgentCache,
    private readonly configuration: Configuration,
    private readonly delegations: ActiveDelegations,
  ) {}

  /**
   * Lists the agents that can approve a decision, and whether they are enough.
   * @param signal aborted when nobody waits for the response any more
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
    await this.catchUp();
    const delegators = await delegatorsOf(this.reader, decision.reviews);
    const responses: ApproverResponse[] = [];
    const able = new AbleReviewers();
    const turn = new TimeSlice();
    let [total, examined] = [0, 0];
    for await (const candidate of this.candidates(decision, signal)) {
      if (turn.isOver) await turn.next();
      const isInSight = isReviewerInSight(caller, candidate.agent);
      examined += 1;
      total += isInSight ? 1 : 0;
      const isShown = isInSight && total > offset && responses.length < limit;
      if (!isShown && examined > MAX_APPROVERS) continue;
      const why = this.inability(decision, candidate, delegators, (agent) => this.isForbidden(agent, decision));
      if (isShown) responses.push(approverRow(candidate, why, canBeDecided));
      if (why === null && examined <= MAX_APPROVERS) able.add(candidate);
    }
    const isEnough = canBeDecided && areEnough(decision, [...fillableGroups(decision), ...able.groups]);
    const isKnown = isEnough || examined <= MAX_APPROVERS || !canBeDecided;
    return { data: responses, total, feasible: isKnown ? isEnough : null };
  }

  /**
   * True if too few agents can approve a decision. False if they are enough, or if the first agents read do not tell,
   * because the response must not wait long.
   */
  async isUnfillable(decisionId: string, signal: AbortSignal): Promise<boolean> {
    const decision = requireFound(await this.records.find(DECISION, decisionId, SYSTEM_CALLER), 'decision');
    if (!isDecisionOpen(decision) || isExpired(decision, this.ledger.now)) return false;
    await this.catchUp();
    const delegators = await delegatorsOf(this.reader, decision.reviews);
    const reviewed = fillableGroups(decision);
    const able = new AbleReviewers();
    /**
     * Agents that fill the same groups are interchangeable: at most as many of them are compared as there are
     * approvals.
     */
    const counts = new Map<string, number>();
    let chunks = 0;
    for await (const candidates of this.candidateChunks(decision, signal)) {
      chunks += 1;
      if (chunks > MAX_CHUNKS) return false;
      for await (const candidate of yieldBetween(candidates)) {
        const key = candidate.fillable.join(' ');
        const count = counts.get(key) ?? 0;
        if (count === decision.requiredApprovals) continue;
        const isForbidden = (agent: ListedAgent): boolean => this.isForbidden(agent, decision);
        if (this.inability(decision, candidate, delegators, isForbidden) !== null) continue;
        if (!able.add(candidate)) continue;
        counts.set(key, count + 1);
        if (areEnough(decision, [...reviewed, ...able.groups])) return false;
      }
    }
    return true;
  }

  /**
   * Lists the decisions that an agent could approve now. No index can tell, so proposed decisions are examined one by
   * one, up to the end of the page; for the first page, to the end of the list to count them.
   * @throws PERMISSION_DENIED if the caller may see nothing about that agent
   */
  async listAwaiting(caller: Caller, idOrName: string, request: PageRequest): Promise<Page<AwaitedDecision>> {
    const agent = await findNamedAgent(caller, this.records, idOrName);
    // A caller that sees only its own decisions must not learn what others could approve.
    const onlyAgent = onlyAgentSeen(DECISION, caller);
    if (onlyAgent !== null && agent?.id !== onlyAgent) throw callerRefused('not_this_agent');
    if (agent?.status !== 'active') return NOTHING;
    const { limit, order } = request;
    const { places, total } = await this.search(caller, agent, request);
    const pageSequences = [...places.keys()].slice(0, limit);
    if (pageSequences.length === 0) return { ...NOTHING, total };
    const conditions = [{ column: 'createdSequence', comparison: 'among', value: arraysOfOne(pageSequences) } as const];
    const among = { conditions, limit, offset: 0, order, position: null, total: 0 } as const;
    // The search has already applied the caller's visibility.
    const page = await this.records.page(DECISION, among, SYSTEM_CALLER);
    const rows = page.rows.map((row): AwaitedDecision => {
      const ids = places.get(row.createdSequence) ?? [];
      return ids.includes(agent.id) ? row : { ...row, inPlaceOf: ids };
    });
    return { rows, total, totalOf: visibleRows(DECISION, caller), more: page.more || places.size > limit };
  }

  /** Returns a function that makes the judge for a chunk of decisions. */
  judging(agents: readonly ListedAgent[]): (decisions: readonly OpenDecision[]) => Promise<Judge> {
    const searchFor = this.placeSearches(agents);
    return async (decisions) => {
      const placesOf = await searchFor(decisions);
      return (agent, decision) => placesOf(agent, decision).length > 0;
    };
  }

  /** Returns a function that makes the search for a chunk of decisions. Passkeys are read when a decision needs one. */
  private placeSearches(agents: readonly ListedAgent[]): (decisions: readonly OpenDecision[]) => Promise<PlaceSearch> {
    let signing: ReadonlySet<string> | null = null;
    let emergencies: ReadonlySet<string> = new Set();
    let reviewers: ReadonlyMap<string, readonly Reviewer[]> = new Map();
    let delegators: Delegators = new Map();
    /** Results by agent, and by the members of a decision that policies see, which many decisions share. */
    const forbidden = new Map<string, boolean>();
    const couldReview = (reviewer: Reviewer, decision: OpenDecision): boolean => {
      const { approvers } = decision;
      if (isExpired(decision, this.ledger.now)) return false;
      if (![reviewer.agent, reviewer.place].every((agent) => mayDecide(decision, agent, emergencies))) return false;
      const groups = approvers === null ? [] : new ApproverGroups(approvers).groupsFor(reviewer.place);
      if (approvers !== null && groups.length === 0) return false;
      const fillable = fillableBy(signing?.has(reviewer.agent.id) === true, groups, approvers ?? []);
      const isForbidden = (agent: ListedAgent): boolean => {
        const key = `${agent.id} ${decisionResource(decision)}`;
        const verdict = forbidden.get(key) ?? this.isForbidden(agent, decision);
        forbidden.set(key, verdict);
        return verdict;
      };
      return this.inability(decision, { ...reviewer, groups, fillable }, delegators, isForbidden) === null;
    };
    const placesOf: PlaceSearch = (agent, decision) => {
      if (couldReview({ agent, place: agent, delegation: null }, decision)) return [agent.id];
      const able = (reviewers.get(agent.id) ?? []).filter((reviewer) => couldReview(reviewer, decision));
      return [...new Set(able.map(({ place }) => place.id))];
    };
    return async (decisions) => {
      await this.catchUp();
      reviewers = await this.substitutes(agents);
      emergencies = await emergencyTimes(this.records, decisions);
      delegators = await delegatorsOf(
        this.reader,
        decisions.flatMap((decision) => decision.reviews),
      );
      if (decisions.some(hasSignedGroup)) signing ??= await this.holders.among(agents.map(({ id }) => id));
      return placesOf;
    };
  }

  private async search(caller: Caller, agent: Agent, request: PageRequest): Promise<SearchPage> {
    const { limit, order, position } = request;
    // A total found for a caller who sees other decisions is not reused.
    const knownTotal = (request.totalOf ?? null) === visibleRows(DECISION, caller) ? request.total : null;
    const conditions = [...request.conditions, PROPOSED];
    const range = { conditions, order, position: knownTotal === null ? null : position, atOnce: MAX_DECISIONS };
    const places = new Map<number, readonly string[]>();
    const searchFor = this.placeSearches([agent]);
    let total = 0;
    let toSkip = request.offset;
    for await (const decisions of this.records.columns(DECISION, JUDGED, range, caller)) {
      const placesOf = await searchFor(decisions);
      for await (const decision of yieldBetween(decisions)) {
        request.signal?.throwIfAborted();
        const ids = placesOf(agent, decision);
        if (ids.length === 0) continue;
        total += 1;
        if (!isBeyond(decision.createdSequence, position, order)) continue;
        if (toSkip > 0) toSkip -= 1;
        else if (places.size <= limit) places.set(decision.createdSequence, ids);
        else if (knownTotal !== null) return { places, total: knownTotal };
      }
    }
    return { places, total: knownTotal ?? total };
  }

  private async *candidates(decision: Decision, signal: AbortSignal): AsyncGenerator<Candidate> {
    for await (const candidates of this.candidateChunks(decision, signal)) yield* candidates;
  }

  /** Yields, for each chunk of agents read, those that match a group; without groups, the active ones. */
  private async *candidateChunks(decision: Decision, signal: AbortSignal): AsyncGenerator<Candidate[]> {
    const { approvers } = decision;
    const groups = approvers === null ? null : new ApproverGroups(approvers);
    const inGroups = groups?.areOfPeople === true ? [PERSON] : [];
    const conditions = groups === null ? [ACTIVE] : inGroups;
    const emergencies = await emergencyTimes(this.records, [decision]);
    const isDecider = (agent: ListedAgent): boolean => mayDecide(decision, agent, emergencies);
    const range = { conditions, order: 'asc', position: null, atOnce: MAX_AGENTS } as const;
    for await (const agents of this.records.columns(
      AGENT,
      ['name', 'kind', 'roles', 'status', 'createdAt', 'team'],
      range,
    )) {
      signal.throwIfAborted();
      const all = agents.filter(isDecider).map((place) => ({ place, groups: groups?.groupsFor(place) ?? [] }));
      const places = groups === null ? all : all.filter((candidate) => candidate.groups.length > 0);
      const matching = (await this.withSubstitutes(places)).filter(({ agent }) => isDecider(agent));
      const ids = hasSignedGroup(decision) ? matching.map(({ agent }) => agent.id) : [];
      const signing = await this.holders.among(ids);
      yield matching.map((candidate) => ({
        ...candidate,
        fillable: fillableBy(signing.has(candidate.agent.id), candidate.groups, approvers ?? []),
      }));
    }
  }

  private async catchUp(): Promise<void> {
    await this.policies.catchUp(this.agents.memory);
    await this.delegations.catchUp();
  }

  private isForbidden(agent: ListedAgent, decision: OpenDecision): boolean {
    return denyingReview(this.policies, decision, 'approve', agent).length > 0;
  }

  /** Returns, for each of the agents, the delegations by which it may review in the place of others. */
  private async substitutes(agents: readonly ListedAgent[]): Promise<ReadonlyMap<string, readonly Reviewer[]>> {
    const received = agents.map((agent) => ({ agent, delegations: this.delegations.listReceivedBy(agent.id) }));
    const places = await this.agentsAmong(
      received.flatMap(({ delegations }) => delegations.map(({ agentId }) => agentId)),
    );
    const reviewers = received.map(({ agent, delegations }): [string, Reviewer[]] => [
      agent.id,
      delegations.flatMap((delegation) => {
        const place = places.get(delegation.agentId);
        return place === undefined ? [] : [{ agent, place, delegation }];
      }),
    ]);
    return new Map(reviewers);
  }

  /** Yields each agent in its own place, followed by those who may review in that place. */
  private async withSubstitutes<Place extends { readonly place: ListedAgent }>(
    places: readonly Place[],
  ): Promise<(Place & Reviewer)[]> {
    const delegations = places.flatMap(({ place }) => this.delegations.listMadeBy(place.id));
    const agents = await this.agentsAmong(delegations.map(({ to }) => to));
    return places.flatMap((candidate) => [
      { ...candidate, agent: candidate.place, delegation: null },
      ...this.delegations.listMadeBy(candidate.place.id).flatMap((delegation) => {
        const agent = agents.get(delegation.to);
        return agent === undefined ? [] : [{ ...candidate, agent, delegation }];
      }),
    ]);
  }

  private async agentsAmong(ids: readonly string[]): Promise<ReadonlyMap<string, Agent>> {
    const keys = [...new Set(ids)].map((id) => [id]);
    const agents = keys.length === 0 ? [] : await this.records.allAmong(AGENT, ['id'], keys);
    return new Map(agents.map((agent) => [agent.id, agent]));
  }

  /** The first reason why an eligible agent cannot approve; null if there is none. */
  private inability(
    decision: OpenDecision,
    { agent, place, delegation, groups, fillable }: Candidate,
    delegators: Delegators,
    isForbidden: (agent: ListedAgent) => boolean,
  ): Inability | null {
    if (delegation !== null && substituteFault(decision, agent.id) !== null) return 'proposer';
    if (selfApproval(decision, 'approve', place.id, this.configuration.allowSelfApproval) !== null) return 'proposer';
    if (agent.status !== 'active' || place.status !== 'active' || this.agents.isSuspended(decision.proposedBy ?? ''))
      return 'suspended';
    if (isReviewed(decision, { approverId: agent.id, placeId: place.id }, delegators)) return 'reviewed';
    if (groups.length > 0 && fillable.length === 0) return 'no_passkey';
    return isForbidden(place) || (delegation !== null && isForbidden(agent)) ? 'policy_denied' : null;
  }
}

/**
 * True if the caller sees the agent. A caller of a team sees the people for whom its decisions wait, and no machines of
 * others.
 */
function isReviewerInSight(caller: Caller, agent: ListedAgent): boolean {
  return agent.kind === 'human' || isInReach(caller, agent);
}

function approverRow(
  { agent: { id: agentId, name, kind }, groups, delegation }: Candidate,
  why: Inability | null,
  canBeDecided: boolean,
): ApproverResponse {
  const place = delegation === null ? {} : { for: delegation.agentId, delegationId: delegation.id };
  return { agentId, name, kind, groups, able: why === null && canBeDecided, why, ...place };
}

function isBeyond(sequence: number, position: number | null, order: PageRequest['order']): boolean {
  return position === null || (order === 'asc' ? sequence > position : sequence < position);
}
