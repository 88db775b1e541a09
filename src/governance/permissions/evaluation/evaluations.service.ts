import { Injectable } from '@nestjs/common';
import { ActionGuards } from '../action-guards';
import { answerForAgent, answerForSubject, type DecidingRules, type PermissionAnswer } from '../permissions';
import { Configuration } from '../../../core/config/configuration';
import { invalid, invalidField, notFound } from '../../../core/errors/domain-error';
import type { Caller } from '../../../ledger/caller';
import { type Moment, RecordHistory } from '../../../ledger/record-history';
import { ActivePolicies } from '../../policies/active-policies';
import type { EvaluationRequest, PolicyEffect } from '../../policies/evaluation/evaluation';
import type { MatchedPolicy, NearPolicy } from '../../policies/evaluation/explanation';
import type { PolicySet } from '../../policies/evaluation/policy-evaluator';
import { PastPolicies } from '../../policies/past-policies';
import type { EvaluationSubject } from '../../policies/patterns/subjects';
import { Turn } from '../../../core/concurrency/turn';
import {
  type Agents,
  agentsOf,
  type AskedPermission,
  isKnown,
  type KnownAgent,
  requireMayAsk,
  unknownAgentFaults,
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
  /** The best effect that any parameters could have. */
  readonly bestEffect: PolicyEffect;
}

export interface ExplainedAnswer {
  readonly answer: PermissionAnswer;
  /** Null if none was asked for. */
  readonly explanation: AnswerExplanation | null;
}

/** Answers questions by one set of policies. */
export interface Asking {
  readonly policySet: string;
  /** False for an agent that does not exist; questions about it cannot be answered. */
  readonly isKnown: (who: AskedPermission['who']) => boolean;
  readonly answer: (question: AskedPermission, explains: boolean) => ExplainedAnswer;
  /** The best answer that any parameters could have. */
  readonly openAnswer: (question: AskedPermission) => ExplainedAnswer;
}

/** A list of questions of one request. */
interface QuestionList<Answer> {
  readonly caller: Caller;
  /** The subjects of the questions. */
  readonly everybody: readonly AskedPermission['who'][];
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
  /** Those of extensions; absent where policies alone are asked about. */
  readonly guards?: ActionGuards;
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
  ) {}

  /**
   * Answers the whole list by one set of policies, the one in force.
   * @throws PERMISSION_DENIED when the caller may only ask for its own agent.
   */
  async ask<Answer>(list: QuestionList<Answer>): Promise<Answers<Answer>> {
    return this.answered(list, async () => {
      const basis = await this.current(list.everybody);
      requireMayAsk(list.caller, list.everybody, basis.agents);
      return { ...basis, guards: this.guards };
    });
  }

  /**
   * The same by the policies that were in force at a moment, and the agents as they were.
   * @param leaving aborted when nobody waits for the answers any more.
   * @throws UNAVAILABLE when too many others ask about earlier times.
   */
  async askAsOf<Answer>(list: QuestionList<Answer>, asOf: Moment, leaving: AbortSignal): Promise<Answers<Answer>> {
    const { sequence, time } = await this.history.wholeChangeAt(asOf, 'policySet', 'asOf');
    // Nothing existed before the first entry.
    if (sequence === 0) throw notFound('ledger at that time');
    requireMayAsk(list.caller, list.everybody, await agentsOf(this.history, list.everybody));
    const agents = await agentsOf(this.history, list.everybody, sequence);
    const work = (policies: PolicySet): Promise<Answers<Answer>> =>
      this.answered(list, () => Promise.resolve({ policies, agents, at: time }));
    return this.past.inForceAfter(list.caller, sequence, work, leaving);
  }

  /** Answers by policies that need not be in force. Whether the caller may ask is not checked. */
  askingOf({ policies, agents, at, guards }: Basis): Asking {
    const { policyDefaultEffect: defaultEffect } = this.configuration;
    const evaluate = policies.evaluate.bind(policies);
    const rules = { evaluate, defaultEffect, at, ...(guards !== undefined && { guards }) };
    return {
      policySet: policies.policySet,
      isKnown: (who) => isKnown(who, agents),
      answer: (question, explains) => {
        const who = resolved(question, agents);
        const answer = answerTo(who, question, rules);
        const subject = subjectOf(who);
        const explanation = explains ? explained({ subject, at }, question, answer, policies, defaultEffect) : null;
        return { answer, explanation };
      },
      openAnswer: (question) => {
        const who = resolved(question, agents);
        const answer = answerTo(who, question, { evaluate, defaultEffect, at });
        if (isUnable(answer)) return { answer, explanation: null };
        const { action, resourceType, resourceId, parameters } = question;
        const request = { subject: subjectOf(who), action, resourceType, resourceId, parameters, at };
        const effect = policies.bestEffect(request, defaultEffect);
        return { answer: effect === answer.effect ? answer : openAnswer(effect), explanation: null };
      },
    };
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
      const asking = limited(this.askingOf(asked), field);
      for (const answer of answers(asking)) {
        all.push(answer);
        if (turn.isOver && start < MOST_STARTS) await turn.next();
        if (policies.version !== version) break;
      }
      if (policies.version === version) return { answers: all, policySet: asking.policySet };
    }
  }

  /**
   * Agents and policies as they are at one moment. Agents read before a policy change could be allowed what neither the
   * policies before nor those after would have allowed.
   */
  private async current(everybody: readonly AskedPermission['who'][]): Promise<Basis> {
    const policies = this.policies.inForce;
    for (;;) {
      const { version } = policies;
      const agents = await agentsOf(this.history, everybody);
      await this.policies.catchUp();
      if (version === policies.version) return { policies, agents, at: this.history.now };
    }
  }
}

/** Answers questions in order. @throws VALIDATION_ERROR for agents that do not exist. */
export function* answersTo(
  asked: readonly AskedPermission[],
  asking: Asking,
  { explains = false, isOpen = false } = {},
): Generator<ExplainedAnswer> {
  const faults = unknownAgentFaults(asked, asking.isKnown);
  if (faults.length > 0) throw invalid(faults);
  for (const question of asked) yield isOpen ? asking.openAnswer(question) : asking.answer(question, explains);
}

/** Refuses what would take too much: each answer repeats all approvers that the policies name. */
function limited(asking: Asking, field: string): Asking {
  let characters = 0;
  return {
    ...asking,
    answer: (question, explains) => {
      const answered = asking.answer(question, explains);
      for (const { subjects } of answered.answer.requirement?.approvers ?? [])
        for (const subject of subjects) characters += subject.length + AROUND_SUBJECT;
      if (characters <= MOST_CHARACTERS) return answered;
      const message = `must be fewer: the approvers in their answers would take more than ${MOST_CHARACTERS} characters`;
      throw invalidField(field, message);
    },
  };
}

function answerTo(
  who: KnownAgent | EvaluationSubject,
  question: AskedPermission,
  rules: DecidingRules,
): PermissionAnswer {
  return 'agent' in who
    ? answerForAgent(who.agent, question, rules, who.subject)
    : answerForSubject(who, question, rules);
}

function subjectOf(who: KnownAgent | EvaluationSubject): EvaluationSubject {
  return 'agent' in who ? who.subject : who;
}

function resolved({ who }: AskedPermission, agents: Agents): KnownAgent | EvaluationSubject {
  if (!('agent' in who)) return who;
  const agent = agents.get(who.agent);
  if (agent === undefined) throw new Error(`The agent ${who.agent} was not refused as unknown.`);
  return agent;
}

/** Whatever the policies say. */
function isUnable({ reason }: PermissionAnswer): boolean {
  return reason === 'agent_suspended' || reason === 'capability_missing';
}

/** An answer better than the one to the question as it was asked. Which policies decide depends on what it leaves open. */
function openAnswer(effect: PolicyEffect): PermissionAnswer {
  return { effect, reason: effect === 'allow' ? null : 'approval_required', policies: [], requirement: null };
}

/** For an agent that is suspended or lacks the capability: evaluated as if it could act, and without near misses. */
function explained(
  who: Pick<EvaluationRequest, 'subject' | 'at'>,
  { action, resourceType, resourceId, parameters }: AskedPermission,
  answer: PermissionAnswer,
  policies: PolicySet,
  defaultEffect: PolicyEffect,
): AnswerExplanation {
  const explanation = policies.explain({ ...who, action, resourceType, resourceId, parameters });
  const { inForce, matched } = explanation;
  if (isUnable(answer) || answer.reason === 'extension_refused')
    return { inForce, matched, nearest: [], bestEffect: 'deny' };
  return {
    ...{ inForce, matched },
    nearest: explanation.nearMisses(answer.effect),
    bestEffect: explanation.bestEffect(defaultEffect),
  };
}
