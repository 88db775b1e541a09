import { Injectable } from '@nestjs/common';
import { isObserved, type NamedAgents } from '../../agents/find-agent';
import { ActionGuards } from '../action-guards';
import {
  checkPermission,
  type PermissionReason,
  type PermissionResult,
  requestOf,
  type Somebody,
} from '../permissions';
import { Gates, callerKey } from '../../../http/gates';
import { Configuration } from '../../../core/config/configuration';
import type { PolicyDefaultEffect } from '../../../core/config/variables/governance-variables';
import { DomainError, type FieldFault, invalid, invalidField, requirePresent } from '../../../core/errors/domain-error';
import type { JsonObject } from '../../../core/json/json-value';
import type { Caller } from '../../../ledger/caller';
import { type Moment, RecordHistory } from '../../../ledger/record-history';
import { ActivePolicies } from '../../policies/active-policies';
import type { Evaluation, EvaluationRequest, Facts, PolicyEffect } from '../../policies/evaluation/evaluation';
import { factsFault, MAX_FACTS_OF_REQUEST } from '../../policies/evaluation/fact-bounds';
import type { FactQueries, PolicySet } from '../../policies/evaluation/policy-evaluator';
import { PastPolicies } from '../../policies/past-policies';
import { FactReader, type FactSource, gatherFacts } from '../facts';
import { subjectOf } from '../../policies/patterns/subjects';
import { ActiveStops } from '../../stops/active-stops';
import type { Stop } from '../../stops/stop.entity';
import { yieldBetween, TimeSlice } from '../../../core/concurrency/time-slice';
import { AnswerResponse, ExplainedLimitResponse, type ExplanationResponse } from './dto/evaluation.response';
import {
  agentsOf,
  type PermissionCheck,
  type CheckParties,
  type Inquirer,
  mayNamePrincipal,
  principalAsked,
  requireMayAsk,
  requireOwnAgent,
  unknownFaults,
} from './permission-checks';
import { type CoverageRequest, meeting, parametersHashOf } from '../../decisions/grants/grant-rules';
import { GrantFinder, type Rejected } from '../../decisions/grants/grant-finder';
import type { Grant } from '../../decisions/grants/grant.entity';

/** How often a list starts anew when policies change, before it is answered by a copy of them. */
const MOST_STARTS = 5;
/** Most characters of approvers in the answers to one request: short questions can repeat them until memory is full. */
const MOST_CHARACTERS = 8 * 1024 * 1024;
/** Characters that JSON adds to each subject: its quotation marks and a comma. */
const AROUND_SUBJECT = 3;

/** A question as policies evaluate it, and the answer. */
interface AnsweredQuestion {
  readonly answer: PermissionResult;
  readonly request: EvaluationRequest;
  /** What holds where no policy matches. */
  readonly otherwise: PolicyEffect;
}

/** A list of questions of one request. */
interface CheckBatch<Answer> {
  readonly caller: Caller;
  /** Of an item that is not a valid question, only who asks it. */
  readonly questions: readonly (PermissionCheck | CheckParties)[];
  /** The member of the request that is at fault if the answers are too long, or need too many facts. */
  readonly field: string;
  /** True if the answers depend on the requests alone: nothing else is read for them. */
  readonly isOpen?: boolean;
  /** Answers them one by one. */
  readonly answers: (asking: Asking) => Iterable<Answer>;
}

interface CheckBatchResult<Answer> {
  readonly answers: readonly Answer[];
  readonly policySet: string;
  /** The agents that the questions name. */
  readonly agents: NamedAgents;
}

/** What the answers to questions depend on. */
export interface CheckContext {
  readonly policies: PolicySet;
  readonly agents: NamedAgents;
  /** Who asks. */
  readonly caller: Inquirer;
  readonly defaultEffect: PolicyDefaultEffect;
  /** Those that are active, the oldest first; absent where policies alone are asked about. */
  readonly stops?: readonly Stop[];
  /** Those of extensions; absent where policies alone are asked about. */
  readonly guards?: ActionGuards;
  /** What is used of limits; without it none counts as reached. */
  readonly facts?: Facts | undefined;
  /** The time for which they are answered. */
  readonly at: string;
  /** The member of the request that is at fault if the answers are too long; absent: their length has no limit. */
  readonly field?: string;
}

/** What is read before the questions are answered, and the source of the facts that policies ask for. */
interface CheckSnapshot extends Pick<CheckContext, 'agents' | 'stops' | 'guards' | 'at'> {
  readonly source: FactSource;
}

/** Answers whether somebody may do something, as execute would, without any effect. */
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
   * Answers the whole list by one set of policies, the one in force. Principals that the caller does not vouch for are
   * refused where they are asked for.
   * @throws PERMISSION_DENIED when the caller may only ask for its own agent; VALIDATION_ERROR when the questions need too
   * many facts.
   */
  async check<Answer>(list: CheckBatch<Answer>): Promise<CheckBatchResult<Answer>> {
    const { caller, questions, isOpen = false } = list;
    const { inForce } = this.policies;
    const stands = async (): Promise<CheckSnapshot> => {
      const agents = await agentsOf(this.history, caller, questions);
      requireOwnAgent(caller, questions, agents);
      await this.policies.catchUp(this.stops.memory);
      const { active: stops } = this.stops;
      return { agents, stops, guards: this.guards, at: this.history.now, source: this.facts.sourceAt() };
    };
    const answered = (): Promise<CheckBatchResult<Answer>> => this.checkConsistently(list, inForce, stands);
    return isOpen || inForce.needsNoFacts ? answered() : this.gates.of('questions').run(callerKey(caller), answered);
  }

  /**
   * Answers by the policies in force and the stops active at a moment, and by the agents as they were then.
   * @param signal aborted when nobody waits for the answers any more.
   * @throws UNAVAILABLE when too many others ask about earlier times.
   */
  async askAsOf<Answer>(
    list: CheckBatch<Answer>,
    asOf: Moment,
    signal: AbortSignal,
  ): Promise<CheckBatchResult<Answer>> {
    const { sequence, time } = await this.past.wholeChangeAt(asOf, 'asOf');
    // Nothing existed before the first entry.
    if (sequence === 0) throw new DomainError('NOT_FOUND', 'There were no entries yet at that time.');
    const { caller, questions } = list;
    requireMayAsk(caller, questions, await agentsOf(this.history, caller, questions));
    const agents = await agentsOf(this.history, caller, questions, sequence);
    const stops = await this.stops.activeAfter(sequence);
    const then = { agents, stops, at: time, source: this.facts.sourceAt(sequence) };
    const work = (policies: PolicySet): Promise<CheckBatchResult<Answer>> =>
      this.checkConsistently(list, policies, async () => then);
    return this.past.inForceAfter(caller, sequence, work, signal);
  }

  /**
   * Allows what an answer requires an approval for, where execute would use a grant in its place. Reads nothing unless an
   * answer requires an approval. @param answers in the order of the questions
   */
  async withGrants(
    caller: Caller,
    questions: readonly PermissionCheck[],
    agents: NamedAgents,
    answers: readonly AnswerResponse[],
  ): Promise<readonly AnswerResponse[]> {
    const asked = questions.map((question, index): CoverageRequest | null => {
      const { who } = question;
      const agentId = 'agent' in who ? agents.get(who.agent)?.id : undefined;
      if (agentId === undefined || answers[index]?.approval === null) return null;
      const principal = principalAsked(caller, question, agents);
      return { ...question, agentId, onBehalfOf: principal?.onBehalfOf.subject ?? null };
    });
    const waiting = asked.filter((one) => one !== null);
    if (waiting.length === 0) return answers;
    const [ids, actions] = [
      new Set(waiting.map(({ agentId }) => agentId)),
      new Set(waiting.map(({ action }) => action)),
    ];
    const known = await this.grants.activeOf([...ids], [...actions]);
    if (known.length === 0) return answers;
    const { now } = this.history;
    const rejections = new Map<string, readonly Rejected[]>();
    /** Questions of a list share the parameters next to it, which may be long. */
    const hashes = new Map<JsonObject, string>();
    const answered: AnswerResponse[] = [];
    for await (const [index, answer] of yieldBetween(answers.entries())) {
      answered.push(answer);
      const one = asked[index] ?? null;
      if (one === null || answer.approval === null) continue;
      const hash = hashes.get(one.parameters) ?? parametersHashOf(one.parameters);
      hashes.set(one.parameters, hash);
      const key = JSON.stringify([one.agentId, one.action, one.resourceType, one.onBehalfOf]);
      const isRejected = async (grant: Grant): Promise<boolean> => {
        const rejected = rejections.get(key) ?? (await this.grants.rejectionsOf(one));
        rejections.set(key, rejected);
        return this.grants.isRejected(rejected, one, grant, now);
      };
      const serving = await this.grants.firstServing(meeting(known, one, hash, now), answer.approval, now, isRejected);
      if (serving === null) continue;
      const { id: grantId } = serving.grant;
      answered[index] = { ...answer, effect: 'allow', reason: null, approval: null, grantId };
    }
    return answered;
  }

  /**
   * Starts anew when the set has changed, so that all answers are by one set, and by agents read while it was in force. Agents
   * read before a policy change could be allowed what neither the policies before nor those after would have allowed.
   */
  private async checkConsistently<Answer>(
    list: CheckBatch<Answer>,
    policies: PolicySet,
    stands: () => Promise<CheckSnapshot>,
  ): Promise<CheckBatchResult<Answer>> {
    const { caller, field, answers } = list;
    const { policyDefaultEffect: defaultEffect } = this.configuration;
    for (let start = 1; ; start += 1) {
      const before = policies.version;
      const { source, ...standing } = await stands();
      if (policies.version !== before) continue;
      const set = start < MOST_STARTS ? policies : policies.copy();
      const { version } = set;
      const basis = { ...standing, policies: set, caller, defaultEffect, field };
      const asking = new Asking({ ...basis, facts: await gathered(list, basis, source) });
      const turn = new TimeSlice();
      // Others that arrived with it may have used up the turn.
      if (turn.isOver) await turn.next();
      const all: Answer[] = [];
      for (const answer of answers(asking)) {
        all.push(answer);
        if (turn.isOver) await turn.next();
        if (set.version !== version) break;
      }
      if (set.version === version) return { answers: all, policySet: asking.policySet, agents: basis.agents };
    }
  }
}

/** Answers questions by one set of policies. */
export class Asking {
  private characters = 0;

  constructor(private readonly basis: CheckContext) {}

  get policySet(): string {
    return this.basis.policies.policySet;
  }

  /** Whether the caller may name the principal of a question. If not, the question is refused whatever else it says. */
  mayName(asker: CheckParties): boolean {
    return mayNamePrincipal(this.basis.caller, asker, this.basis.agents);
  }

  /** Faults of a question about an agent, or for a person, who does not exist: it cannot be answered. */
  unknown(asker: CheckParties): readonly FieldFault[] {
    return unknownFaults(this.basis.caller, asker, this.basis.agents);
  }

  /** @throws VALIDATION_ERROR when the answers take too much: each repeats all approvers that the policies name. */
  answer(question: PermissionCheck, explains = false): AnswerResponse {
    const answered = this.answered(question, this.basis);
    const answer = this.counted(answered.answer);
    return explains ? { ...answer, explanation: this.explained(answered) } : answer;
  }

  /**
   * The best answer that any parameters could have: better than the one to the question as it was asked, or the same.
   * @throws as {@link answer}.
   */
  openAnswer(question: PermissionCheck): AnswerResponse {
    const { answer, request, otherwise } = this.answered(question, {});
    const effect = isUnable(answer) ? answer.effect : this.basis.policies.bestEffect(request, otherwise);
    if (effect === answer.effect) return this.counted(answer);
    // Which policies decide depends on what it leaves open.
    return { effect, reason: effect === 'allow' ? null : 'approval_required', policies: [], approval: null };
  }

  private counted(answered: PermissionResult): AnswerResponse {
    const answer = AnswerResponse.from(answered);
    for (const { subjects } of answer.approval?.approvers ?? [])
      for (const subject of subjects) this.characters += subject.length + AROUND_SUBJECT;
    const { field } = this.basis;
    if (field !== undefined && this.characters > MOST_CHARACTERS) {
      const message = `must be fewer: the approvers in their answers would take more than ${MOST_CHARACTERS} characters`;
      throw invalidField(field, message);
    }
    return answer;
  }

  private answered(
    question: PermissionCheck,
    { facts, guards }: Pick<CheckContext, 'facts' | 'guards'>,
  ): AnsweredQuestion {
    const { policies, agents, stops = [], at, defaultEffect } = this.basis;
    const who = resolved(question, agents);
    const { agent, subject } = who;
    const principal = principalAsked(this.basis.caller, question, agents) ?? null;
    const request = requestOf(question, subject, principal, at);
    const evaluate = (): Evaluation => policies.evaluate(request, facts);
    const rules = { evaluate, defaultEffect, at, stops, guards };
    const answer = checkPermission(who, question, principal, rules);
    return { answer, request, otherwise: agent !== null && isObserved(agent, at) ? 'allow' : defaultEffect };
  }

  /** For an agent that is suspended, is stopped or lacks the capability: evaluated as if it could act, and without near misses. */
  private explained({ answer, request, otherwise }: AnsweredQuestion): ExplanationResponse {
    const { policies, facts } = this.basis;
    const { inForce, matched, limits: asked, nearMisses } = policies.explain(request, facts);
    const explanation = { inForce, matched, limits: asked.map(ExplainedLimitResponse.from) };
    return isUnable(answer) || answer.reason === 'extension_refused'
      ? { ...explanation, nearest: [], bestEffect: 'deny' }
      : { ...explanation, nearest: nearMisses(answer.effect), bestEffect: policies.bestEffect(request, otherwise) };
  }
}

/**
 * Answers questions in order.
 * @throws VALIDATION_ERROR for agents that do not exist; PERMISSION_DENIED for principals that the caller does not vouch for.
 */
export function* answersTo(
  asked: readonly PermissionCheck[],
  asking: Asking,
  { explains = false, isOpen = false } = {},
): Generator<AnswerResponse> {
  const faults = new Map(asked.flatMap((question) => asking.unknown(question)).map((fault) => [fault.field, fault]));
  if (faults.size > 0) throw invalid([...faults.values()]);
  for (const question of asked) yield isOpen ? asking.openAnswer(question) : asking.answer(question, explains);
}

/**
 * Gathers the facts that the policies ask for, in one statement for all questions. They are counted before any is read, up to the bound.
 * @throws VALIDATION_ERROR when a list needs too many.
 */
async function gathered(
  { questions, field, isOpen = false }: CheckBatch<unknown>,
  basis: Pick<CheckContext, 'policies' | 'agents' | 'caller' | 'at'>,
  source: FactSource,
): Promise<Facts | undefined> {
  const { policies, agents, caller, at } = basis;
  if (isOpen || policies.needsNoFacts) return undefined;
  const asked: FactQueries[] = [];
  let count = 0;
  for await (const question of yieldBetween(questions)) {
    if (!('action' in question)) continue;
    const isUnknown = 'agent' in question.who && !agents.has(question.who.agent);
    if (isUnknown || !mayNamePrincipal(caller, question, agents)) continue;
    const { subject } = resolved(question, agents);
    const principal = principalAsked(caller, question, agents) ?? null;
    const needed = policies.factQueries(requestOf(question, subject, principal, at));
    asked.push(needed);
    count += needed.uses.length + needed.facts.length;
    // The bound on the facts in force is that of a single question.
    if (count > MAX_FACTS_OF_REQUEST && questions.length > 1) throw invalidField(field, factsFault(asked.length));
  }
  return gatherFacts(asked, source);
}

function resolved({ who }: PermissionCheck, agents: NamedAgents): Somebody {
  if (!('agent' in who)) return { agent: null, subject: who };
  const agent = requirePresent(agents.get(who.agent), `agent ${who.agent}, which was not refused as unknown,`);
  return { agent, subject: subjectOf(agent) };
}

const UNABLE: ReadonlySet<PermissionReason> = new Set([
  'agent_suspended',
  'principal_suspended',
  'stopped',
  'capability_missing',
]);

/** Whatever the policies say. */
function isUnable({ reason }: PermissionResult): boolean {
  return reason !== null && UNABLE.has(reason);
}
