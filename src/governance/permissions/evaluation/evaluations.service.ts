import { Injectable } from '@nestjs/common';
import { isObserved } from '../../agents/find-agent';
import { ActionGuards } from '../action-guards';
import { answerForAgent, answerForSubject, type AnswerReason, type PermissionAnswer } from '../permissions';
import { Configuration } from '../../../core/config/configuration';
import type { PolicyDefaultEffect } from '../../../core/config/variables/governance-variables';
import { type FieldFault, invalid, invalidField, notFound } from '../../../core/errors/domain-error';
import type { Caller, Vouching } from '../../../ledger/caller';
import { type Moment, RecordHistory } from '../../../ledger/record-history';
import { ActivePolicies } from '../../policies/active-policies';
import type { Evaluation, EvaluationRequest, Facts, PolicyEffect } from '../../policies/evaluation/evaluation';
import type { MatchedPolicy, NearPolicy } from '../../policies/evaluation/explanation';
import type { PolicySet } from '../../policies/evaluation/policy-evaluator';
import { PastPolicies } from '../../policies/past-policies';
import type { EvaluationSubject } from '../../policies/patterns/subjects';
import type { LimitUse } from '../../policies/limits/limit';
import { SumReader } from '../../../ledger/reading/sum-reader';
import { FactReader, type FactSource, gatheredFacts } from '../facts';
import { ActiveStops } from '../../stops/active-stops';
import type { Stop } from '../../stops/stop.entity';
import { Turn } from '../../../core/concurrency/turn';
import {
  type Agents,
  agentsOf,
  type AskedPermission,
  askedPrincipal,
  type Asker,
  type KnownAgent,
  mayName,
  requireMayAsk,
  requireOwnAgent,
  unknownFaults,
} from './questions';

/** How often a list may start anew before it is answered in one turn. */
const MOST_STARTS = 5;
/** Most characters of approvers in the answers to one request: a short question can multiply them beyond the memory. */
const MOST_CHARACTERS = 8 * 1024 * 1024;
/** Of a subject as JSON, besides its text. */
const AROUND_SUBJECT = 3;

export interface AnswerExplanation {
  readonly inForce: number;
  readonly matched: readonly MatchedPolicy[];
  readonly nearest: readonly NearPolicy[];
  /** What the limits of policies are asked for that match otherwise. */
  readonly limits: readonly LimitUse[];
  /** The best effect that any parameters could have. */
  readonly bestEffect: PolicyEffect;
}

export interface ExplainedAnswer {
  readonly answer: PermissionAnswer;
  /** Null if none was asked for. */
  readonly explanation: AnswerExplanation | null;
}

/** A question as policies were asked it, and what they say. */
interface AnsweredQuestion {
  readonly answer: PermissionAnswer;
  readonly request: EvaluationRequest;
  /** The best effect that any parameters could have. */
  readonly bestEffect: () => PolicyEffect;
}

/** A list of questions of one request. */
interface QuestionList<Answer> {
  readonly caller: Caller;
  /** Who asks the questions, and for whom. */
  readonly everybody: readonly Asker[];
  /** The questions: what limits they ask about is gathered before. */
  readonly questions: readonly AskedPermission[];
  /** The member of the request that is at fault if the answers are too long. */
  readonly field: string;
  /** Answers them one by one. */
  readonly answers: (asking: Asking) => Iterable<Answer>;
}

interface Answers<Answer> {
  readonly answers: readonly Answer[];
  readonly policySet: string;
}

/** What the answers to questions depend on. */
export interface Basis {
  readonly policies: PolicySet;
  readonly agents: Agents;
  /** On whose behalf may be asked. */
  readonly principals: Vouching;
  /** Those that are active, the oldest first; absent where policies alone are asked about. */
  readonly stops?: readonly Stop[];
  /** Those of extensions; absent where policies alone are asked about. */
  readonly guards?: ActionGuards;
  /** What is used of limits; without it none counts as reached. */
  readonly facts?: Facts | undefined;
  /** The time for which they are answered. */
  readonly at: string;
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
    private readonly sums: SumReader,
    private readonly facts: FactReader,
  ) {}

  /**
   * Answers the whole list by one set of policies, the one in force. Principals that the caller does not vouch for are
   * refused where they are asked for.
   * @throws PERMISSION_DENIED when the caller may only ask for its own agent.
   */
  async ask<Answer>(list: QuestionList<Answer>): Promise<Answers<Answer>> {
    return this.answered(list, async () => {
      const basis = await this.current(list);
      requireOwnAgent(list.caller, list.everybody, basis.agents);
      return { ...basis, guards: this.guards };
    });
  }

  /**
   * The same by the policies in force and the stops active at a moment, and the agents as they were.
   * @param leaving aborted when nobody waits for the answers any more.
   * @throws UNAVAILABLE when too many others ask about earlier times.
   */
  async askAsOf<Answer>(list: QuestionList<Answer>, asOf: Moment, leaving: AbortSignal): Promise<Answers<Answer>> {
    const { sequence, time } = await this.history.wholeChangeAt(asOf, 'policySet', 'asOf');
    // Nothing existed before the first entry.
    if (sequence === 0) throw notFound('ledger at that time');
    const { caller, everybody } = list;
    requireMayAsk(caller, everybody, await agentsOf(this.history, caller, everybody));
    const agents = await agentsOf(this.history, caller, everybody, sequence);
    const stops = await this.stops.activeAfter(sequence);
    const source = this.facts.at(sequence);
    const work = (policies: PolicySet): Promise<Answers<Answer>> =>
      this.answered(list, async () => {
        const basis = { policies, agents, principals: caller.principals, stops, at: time };
        return { ...basis, facts: await this.gathered(list.questions, basis, source) };
      });
    return this.past.inForceAfter(caller, sequence, work, leaving);
  }

  /**
   * Answers by policies that need not be in force. Whether the caller may ask is not checked.
   * @param field the member of the request that is at fault if the answers are too long; absent: they may be long.
   */
  askingOf(basis: Basis, field?: string): Asking {
    return new Asking(basis, this.configuration.policyDefaultEffect, field);
  }

  /** Starts anew when the set changes between two turns, so that all answers are by one set. */
  private async answered<Answer>(
    { answers, field }: QuestionList<Answer>,
    basis: () => Promise<Basis>,
  ): Promise<Answers<Answer>> {
    for (let start = 1; ; start += 1) {
      const asked = await basis();
      const { policies } = asked;
      const { version } = policies;
      const turn = new Turn();
      const all: Answer[] = [];
      const asking = this.askingOf(asked, field);
      for (const answer of answers(asking)) {
        all.push(answer);
        if (turn.isOver && start < MOST_STARTS) await turn.next();
        if (policies.version !== version) break;
      }
      if (policies.version === version) return { answers: all, policySet: asking.policySet };
    }
  }

  /**
   * Agents, policies and stops as they are at one moment. Agents read before a policy change could be allowed what neither the
   * policies before nor those after would have allowed.
   */
  private async current({ caller, everybody, questions }: QuestionList<unknown>): Promise<Basis> {
    const policies = this.policies.inForce;
    for (;;) {
      const { version } = policies;
      const agents = await agentsOf(this.history, caller, everybody);
      await this.policies.catchUp(this.stops.memory);
      const at = this.history.now;
      const { principals } = caller;
      const facts = await this.gathered(questions, { policies, agents, principals, at }, this.factsNow);
      if (version !== policies.version) continue;
      return { policies, agents, principals, stops: this.stops.active, facts, at };
    }
  }

  /** What the policies ask besides the questions, in one statement for all of them. */
  private gathered(
    questions: readonly AskedPermission[],
    { policies, agents, principals, at }: Pick<Basis, 'policies' | 'agents' | 'principals' | 'at'>,
    source: FactSource,
  ): Promise<Facts | undefined> {
    const asked = questions.flatMap((question) => {
      const { who } = question;
      const subject = 'agent' in who ? agents.get(who.agent)?.subject : who;
      if (subject === undefined || !mayName({ principals }, question, agents)) return [];
      const principal = askedPrincipal({ principals }, question, agents)?.subject ?? null;
      return policies.asks({ ...question, subject, principal, at });
    });
    return gatheredFacts(asked, source);
  }

  private get factsNow(): FactSource {
    return { ...this.facts.at(), sums: (keys) => this.sums.values(keys) };
  }
}

/** Answers questions by one set of policies. */
export class Asking {
  readonly policySet: string;
  private characters = 0;

  constructor(
    private readonly basis: Basis,
    private readonly defaultEffect: PolicyDefaultEffect,
    private readonly field: string | undefined,
  ) {
    this.policySet = basis.policies.policySet;
  }

  /** Whether the caller vouches for whom a question is asked for: if not, all else about it is refused. */
  mayName(asker: Asker): boolean {
    return mayName(this.basis, asker, this.basis.agents);
  }

  /** Faults of a question about an agent, or for a person, who does not exist: it cannot be answered. */
  unknown(asker: Asker): readonly FieldFault[] {
    return unknownFaults(this.basis, asker, this.basis.agents);
  }

  /** @throws VALIDATION_ERROR when the answers take too much: each repeats all approvers that the policies name. */
  answer(question: AskedPermission, explains: boolean): ExplainedAnswer {
    const { policies, facts, guards } = this.basis;
    const answered = this.answered(question, facts, guards);
    const { answer } = answered;
    for (const { subjects } of answer.requirement?.approvers ?? [])
      for (const subject of subjects) this.characters += subject.length + AROUND_SUBJECT;
    if (this.field !== undefined && this.characters > MOST_CHARACTERS) {
      const message = `must be fewer: the approvers in their answers would take more than ${MOST_CHARACTERS} characters`;
      throw invalidField(this.field, message);
    }
    return { answer, explanation: explains ? explained(answered, policies, facts) : null };
  }

  /** The best answer that any parameters could have. */
  openAnswer(question: AskedPermission): ExplainedAnswer {
    const { answer, bestEffect } = this.answered(question, undefined, undefined);
    const effect = isUnable(answer) ? answer.effect : bestEffect();
    return { answer: effect === answer.effect ? answer : openAnswer(effect), explanation: null };
  }

  private answered(
    question: AskedPermission,
    facts: Facts | undefined,
    guards: ActionGuards | undefined,
  ): AnsweredQuestion {
    const { policies, agents, stops = [], at } = this.basis;
    const { defaultEffect } = this;
    const who = resolved(question, agents);
    const principal = askedPrincipal(this.basis, question, agents) ?? null;
    const evaluate = (request: EvaluationRequest): Evaluation => policies.evaluate(request, facts);
    const rules = { evaluate, defaultEffect, at, stops, ...(guards !== undefined && { guards }) };
    const subject = 'agent' in who ? who.subject : who;
    const answer =
      'agent' in who
        ? answerForAgent(who.agent, question, principal, rules, who.subject)
        : answerForSubject(who, question, principal, rules);
    const request = { ...question, subject, principal: principal?.subject ?? null, at };
    const otherwise = 'agent' in who && isObserved(who.agent, at) ? 'allow' : defaultEffect;
    return { answer, request, bestEffect: () => policies.bestEffect(request, otherwise) };
  }
}

/**
 * Answers questions in order.
 * @throws VALIDATION_ERROR for agents that do not exist; PERMISSION_DENIED for principals that the caller does not vouch for.
 */
export function* answersTo(
  asked: readonly AskedPermission[],
  asking: Asking,
  { explains = false, isOpen = false } = {},
): Generator<ExplainedAnswer> {
  const faults = new Map(asked.flatMap((question) => asking.unknown(question)).map((fault) => [fault.field, fault]));
  if (faults.size > 0) throw invalid([...faults.values()]);
  for (const question of asked) yield isOpen ? asking.openAnswer(question) : asking.answer(question, explains);
}

function resolved({ who }: AskedPermission, agents: Agents): KnownAgent | EvaluationSubject {
  if (!('agent' in who)) return who;
  const agent = agents.get(who.agent);
  if (agent === undefined) throw new Error(`The agent ${who.agent} was not refused as unknown.`);
  return agent;
}

const UNABLE: ReadonlySet<AnswerReason> = new Set([
  'agent_suspended',
  'principal_suspended',
  'stopped',
  'capability_missing',
]);

/** Whatever the policies say. */
function isUnable({ reason }: PermissionAnswer): boolean {
  return reason !== null && UNABLE.has(reason);
}

/** An answer better than the one to the question as it was asked. Which policies decide depends on what it leaves open. */
function openAnswer(effect: PolicyEffect): PermissionAnswer {
  return { effect, reason: effect === 'allow' ? null : 'approval_required', policies: [], requirement: null };
}

/** For an agent that is suspended, is stopped or lacks the capability: evaluated as if it could act, and without near misses. */
function explained(
  { answer, request, bestEffect }: AnsweredQuestion,
  policies: PolicySet,
  facts: Facts | undefined,
): AnswerExplanation {
  const { inForce, matched, limits, nearMisses } = policies.explain(request, facts);
  if (isUnable(answer) || answer.reason === 'extension_refused')
    return { inForce, matched, nearest: [], limits, bestEffect: 'deny' };
  return { inForce, matched, limits, nearest: nearMisses(answer.effect), bestEffect: bestEffect() };
}
