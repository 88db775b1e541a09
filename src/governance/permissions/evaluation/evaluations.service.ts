import { Injectable } from '@nestjs/common';
import type { NamedAgents } from '../../agents/find-agent';
import { requireSameTeamThen } from '../../agents/team';
import { ActionGuards } from '../action-guards';
import { requestOf } from '../permissions';
import { Gates, callerKey } from '../../../http/gates';
import { Configuration } from '../../../core/config/configuration';
import { DomainError, invalidField } from '../../../core/errors/domain-error';
import type { Caller } from '../../../ledger/kinds/caller';
import { type Moment, RecordHistory } from '../../../ledger/record-history';
import { ActivePolicies } from '../../policies/active-policies';
import type { EvaluationRequest, Facts } from '../../policies/evaluation/evaluation';
import { ComparisonCounter } from '../../policies/evaluation/comparison-counter';
import { factsFault, MAX_FACTS_OF_REQUEST } from '../../policies/evaluation/fact-bounds';
import type { FactQueries, PolicySet } from '../../policies/evaluation/policy-evaluator';
import { PastPolicies } from '../../policies/past-policies';
import { FactReader, type FactSource, gatherFacts } from '../facts';
import { ActiveStops } from '../../stops/active-stops';
import { yieldBetween, TimeSlice } from '../../../core/concurrency/time-slice';
import type { AnswerResponse } from './dto/evaluation.response';
import { type CheckContext, PermissionChecker, somebodyOf } from './permission-checker';
import {
  agentsOf,
  type PermissionCheck,
  type CheckParties,
  isKnownAgent,
  mayNamePrincipal,
  principalOfCheck,
  requireMayCheck,
  requireOwnAgent,
} from './permission-checks';
import { GrantFinder, type RequirementToCover } from '../../decisions/grants/grant-finder';

/** Most attempts to answer a list while policies change; the last attempt uses a copy of them. */
const MAX_STARTS = 5;

/** The checks of one request. */
interface CheckBatch<Answer> {
  readonly caller: Caller;
  /** Checks; an item that is no valid check has only its parties. */
  readonly questions: readonly (PermissionCheck | CheckParties)[];
  /** Member of the request that is at fault if the answers are too long, or need too many facts or comparisons. */
  readonly field: string;
  /** Member at fault instead if the lists of one check are too long; absent if the checks are a list. */
  readonly parametersField?: string | undefined;
  /** True if the answers are explained, which examines more policies. */
  readonly isExplained?: boolean;
  /** True if the answers depend on the requests and policies alone, so that no facts are read. */
  readonly isOpen?: boolean;
  /** Yields the answers one by one, and null between the steps of a long one. */
  readonly answers: (checker: PermissionChecker) => Iterable<Answer | null>;
}

interface CheckBatchResult<Answer> {
  readonly answers: readonly Answer[];
  readonly policySet: string;
  /** Agents that the checks name. */
  readonly agents: NamedAgents;
}

/** State that is read before the checks are answered, and source of the facts that policies need. */
interface CheckSnapshot extends Pick<CheckContext, 'agents' | 'stops' | 'guards' | 'at'> {
  readonly source: FactSource;
}

/** Answers checks as execute would, without any effect. */
@Injectable()
export class Evaluations {
  constructor(
    private readonly policies: ActivePolicies,
    private readonly past: PastPolicies,
    private readonly history: RecordHistory,
    private readonly configuration: Configuration,
    private readonly guards: ActionGuards,
    private readonly stops: ActiveStops,
    private readonly facts: FactReader,
    private readonly grants: GrantFinder,
    private readonly gates: Gates,
  ) {}

  /**
   * Answers the whole list by one set of policies, the one in force. A check with a principal that the caller does not
   * vouch for is refused.
   * @throws PERMISSION_DENIED if the caller may only check for its own agent; VALIDATION_ERROR if the checks need too
   * many facts
   */
  async check<Answer>(list: CheckBatch<Answer>): Promise<CheckBatchResult<Answer>> {
    const { caller, questions, isOpen = false } = list;
    const { inForce } = this.policies;
    const takeSnapshot = async (): Promise<CheckSnapshot> => {
      const agents = await agentsOf(this.history, caller, questions);
      requireOwnAgent(caller, questions, agents);
      await this.policies.catchUp(this.stops.memory);
      const { active: stops } = this.stops;
      return { agents, stops, guards: this.guards, at: this.history.now, source: this.facts.sourceAt() };
    };
    const checkAll = (): Promise<CheckBatchResult<Answer>> => this.checkConsistently(list, inForce, takeSnapshot);
    return isOpen || inForce.needsNoFacts ? checkAll() : this.gates.get('questions').run(callerKey(caller), checkAll);
  }

  /**
   * Answers checks by the policies, stops and agents as they were at a moment.
   * @param signal aborted when the client has gone
   * @throws UNAVAILABLE if too many other requests about earlier times are running; PERMISSION_DENIED for an agent that
   * was in another team than the caller's
   */
  async checkAsOf<Answer>(
    list: CheckBatch<Answer>,
    asOf: Moment,
    signal: AbortSignal,
  ): Promise<CheckBatchResult<Answer>> {
    const { sequence, time } = await this.past.wholeChangeAt(asOf, 'asOf');
    // Nothing existed before the first entry.
    if (sequence === 0) throw new DomainError('NOT_FOUND', 'There were no entries yet at that time.');
    const { caller, questions } = list;
    requireMayCheck(caller, questions, await agentsOf(this.history, caller, questions));
    const agents = await agentsOf(this.history, caller, questions, sequence);
    for (const agent of agents.values()) requireSameTeamThen(caller, agent);
    const stops = await this.stops.activeAfter(sequence);
    const then = { agents, stops, at: time, source: this.facts.sourceAt(sequence) };
    const work = (policies: PolicySet): Promise<CheckBatchResult<Answer>> =>
      this.checkConsistently(list, policies, async () => then);
    return this.past.inForceAfter(caller, sequence, work, signal);
  }

  /**
   * Turns an answer that requires an approval into `allow` if execute would use a grant. Reads nothing unless an answer
   * requires an approval. @param answers answers in the order of the checks
   */
  async withGrants(
    caller: Caller,
    questions: readonly PermissionCheck[],
    agents: NamedAgents,
    answers: readonly AnswerResponse[],
  ): Promise<readonly AnswerResponse[]> {
    const requests = questions.map((question, index): RequirementToCover | null => {
      const { who } = question;
      const agentId = 'agent' in who ? agents.get(who.agent)?.id : undefined;
      const requirement = answers[index]?.approval ?? null;
      if (agentId === undefined || requirement === null) return null;
      const onBehalfOf = principalOfCheck(caller, question, agents)?.onBehalfOf.subject ?? null;
      return { request: { ...question, agentId, onBehalfOf }, requirement };
    });
    const covering = await this.grants.findCoveringAmong(requests, this.history.now);
    return answers.map((answer, index) => {
      const grantId = covering[index]?.grant.id;
      return grantId === undefined ? answer : { ...answer, effect: 'allow', reason: null, approval: null, grantId };
    });
  }

  /**
   * Answers again if the policies have changed meanwhile, so that all answers are by one set of policies, and by agents
   * read while that set was in force. Old agents checked by new policies could be allowed an action that was never
   * allowed.
   */
  private async checkConsistently<Answer>(
    list: CheckBatch<Answer>,
    policies: PolicySet,
    takeSnapshot: () => Promise<CheckSnapshot>,
  ): Promise<CheckBatchResult<Answer>> {
    const { caller, field, answers } = list;
    const { policyDefaultEffect: defaultEffect } = this.configuration;
    for (let start = 1; ; start += 1) {
      const before = policies.version;
      const { source, ...snapshot } = await takeSnapshot();
      if (policies.version !== before) continue;
      const set = start < MAX_STARTS ? policies : policies.copy();
      const { version } = set;
      const basis = { ...snapshot, policies: set, caller, defaultEffect, field };
      await requireFewComparisons(list, basis);
      const checker = new PermissionChecker({ ...basis, facts: await factsOf(list, basis, source) });
      const turn = new TimeSlice();
      // Work that arrived at the same time may have used up the turn.
      if (turn.isOver) await turn.next();
      const all: Answer[] = [];
      for (const answer of answers(checker)) {
        if (answer !== null) all.push(answer);
        if (turn.isOver) await turn.next();
        if (set.version !== version) break;
      }
      if (set.version === version) return { answers: all, policySet: checker.policySet, agents: basis.agents };
    }
  }
}

type RequestBasis = Pick<CheckContext, 'policies' | 'agents' | 'caller' | 'at'>;

/** Yields the requests that policies evaluate, for the checks that policies answer. */
async function* requestsFor(
  questions: CheckBatch<unknown>['questions'],
  { agents, caller, at }: RequestBasis,
): AsyncGenerator<EvaluationRequest> {
  for await (const question of yieldBetween(questions)) {
    if (!('action' in question)) continue;
    if (!isKnownAgent(caller, question, agents) || !mayNamePrincipal(caller, question, agents)) continue;
    const { subject } = somebodyOf(question, agents);
    const principal = principalOfCheck(caller, question, agents) ?? null;
    yield requestOf(question, subject, principal, at);
  }
}

/** @throws VALIDATION_ERROR if conditions would compare too many items of lists */
async function requireFewComparisons(
  { questions, field, parametersField = field, isExplained }: CheckBatch<unknown>,
  basis: RequestBasis,
): Promise<void> {
  if (basis.policies.needsNoComparisons) return;
  const counter = new ComparisonCounter(basis.policies, { field, isExplained });
  for await (const request of requestsFor(questions, basis)) counter.count(request, parametersField);
}

/**
 * Gathers the facts that the policies need, in one statement for all checks. Counts them first, up to the bound.
 * @throws VALIDATION_ERROR if a list needs too many
 */
async function factsOf(
  { questions, field, isOpen = false }: CheckBatch<unknown>,
  basis: RequestBasis,
  source: FactSource,
): Promise<Facts | undefined> {
  const { policies } = basis;
  if (isOpen || policies.needsNoFacts) return undefined;
  const queries: FactQueries[] = [];
  let count = 0;
  for await (const request of requestsFor(questions, basis)) {
    const needed = policies.factQueries(request);
    queries.push(needed);
    count += needed.uses.length + needed.facts.length;
    // The bound on facts of the policies in force holds for a single check.
    if (count > MAX_FACTS_OF_REQUEST && questions.length > 1) throw invalidField(field, factsFault(queries.length));
  }
  return gatherFacts(queries, source);
}
