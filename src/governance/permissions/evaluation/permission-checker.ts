import { isObserved, type NamedAgents } from '../../agents/find-agent';
import type { ActionGuards } from '../action-guards';
import {
  checkPermission,
  type PermissionReason,
  type PermissionResult,
  requestOf,
  type Somebody,
} from '../permissions';
import type { PolicyDefaultEffect } from '../../../core/config/variables/governance-variables';
import { type FieldFault, invalid, invalidField, requirePresent } from '../../../core/errors/domain-error';
import { everySubjectOf } from '../../policies/approval/approval-requirement';
import type { Evaluation, EvaluationRequest, Facts, PolicyEffect } from '../../policies/evaluation/evaluation';
import type { PolicySet } from '../../policies/evaluation/policy-evaluator';
import { subjectOf } from '../../policies/patterns/subjects';
import type { Stop } from '../../stops/stop.entity';
import { AnswerResponse, ExplainedLimitResponse, type ExplanationResponse } from './dto/evaluation.response';
import {
  type PermissionCheck,
  type CheckParties,
  type Inquirer,
  mayNamePrincipal,
  principalOfCheck,
  unknownFaults,
} from './permission-checks';

/** Most characters of approvers in the answers to one request: short checks could repeat them until memory is full. */
const MAX_CHARACTERS = 8 * 1024 * 1024;
const TOO_MANY_APPROVERS = `must be fewer: the approvers in their answers would take more than ${MAX_CHARACTERS} characters`;
/** Characters that JSON adds to each subject: quotation marks and a comma. */
const AROUND_SUBJECT = 3;

/** A check as policies evaluate it, and its result. */
interface AnsweredQuestion {
  readonly answer: PermissionResult;
  readonly request: EvaluationRequest;
  /** Effect if no policy matches. */
  readonly effectByDefault: PolicyEffect;
}

/** Everything that the results of checks depend on. */
export interface CheckContext {
  readonly policies: PolicySet;
  readonly agents: NamedAgents;
  /** Caller, who determines which principals may be named. */
  readonly caller: Inquirer;
  readonly defaultEffect: PolicyDefaultEffect;
  /** Active stops, the oldest first; absent if only policies decide. */
  readonly stops?: readonly Stop[];
  /** The guards of extensions; absent if only policies decide. */
  readonly guards?: ActionGuards;
  /** Used sums of limits; without them no limit counts as reached. */
  readonly facts?: Facts | undefined;
  /** Time for which the policies are evaluated, in ISO 8601. */
  readonly at: string;
  /** Member of the request that is at fault if the answers are too long; absent if their length has no limit. */
  readonly field?: string;
}

/** Answers checks by one set of policies. */
export class PermissionChecker {
  private characters = 0;

  constructor(private readonly basis: CheckContext) {}

  get policySet(): string {
    return this.basis.policies.policySet;
  }

  /** True if the caller may name the principal of a check, which is refused otherwise. */
  mayName(parties: CheckParties): boolean {
    return mayNamePrincipal(this.basis.caller, parties, this.basis.agents);
  }

  /** Returns faults of a check about an agent, or for a person, who does not exist: it cannot be answered. */
  unknownFaults(parties: CheckParties): readonly FieldFault[] {
    return unknownFaults(this.basis.caller, parties, this.basis.agents);
  }

  /** @throws VALIDATION_ERROR if the answers are too long: each repeats all approvers that the policies name */
  answer(question: PermissionCheck): AnswerResponse {
    return this.countCharacters(this.evaluateCheck(question, this.basis).answer);
  }

  /** Yields between the steps; the policies must not change until it is done. @throws as {@link answer} */
  *explainedAnswer(question: PermissionCheck): Generator<null, AnswerResponse> {
    const evaluated = this.evaluateCheck(question, this.basis);
    const answer = this.countCharacters(evaluated.answer);
    return { ...answer, explanation: yield* this.explained(evaluated) };
  }

  /**
   * Returns the best effect that any parameters could have, at least that of the check's own.
   * @throws as {@link answer}
   */
  openAnswer(question: PermissionCheck): AnswerResponse {
    const { answer, request, effectByDefault } = this.evaluateCheck(question, {});
    const effect = isUnable(answer) ? answer.effect : this.basis.policies.bestEffect(request, effectByDefault);
    if (effect === answer.effect) return this.countCharacters(answer);
    // The deciding policies depend on the parameters that the check leaves open.
    return { effect, reason: effect === 'allow' ? null : 'approval_required', policies: [], approval: null };
  }

  private countCharacters(result: PermissionResult): AnswerResponse {
    const answer = AnswerResponse.from(result);
    const subjects = answer.approval?.approvers.flatMap(everySubjectOf) ?? [];
    for (const subject of subjects) this.characters += subject.length + AROUND_SUBJECT;
    const { field } = this.basis;
    if (field !== undefined && this.characters > MAX_CHARACTERS) throw invalidField(field, TOO_MANY_APPROVERS);
    return answer;
  }

  /** Returns the request that policies evaluate. */
  requestFor(question: PermissionCheck): EvaluationRequest {
    const { agents, at, caller } = this.basis;
    const principal = principalOfCheck(caller, question, agents) ?? null;
    return requestOf(question, somebodyOf(question, agents).subject, principal, at);
  }

  private evaluateCheck(
    question: PermissionCheck,
    { facts, guards }: Pick<CheckContext, 'facts' | 'guards'>,
  ): AnsweredQuestion {
    const { policies, agents, stops = [], at, defaultEffect } = this.basis;
    const who = somebodyOf(question, agents);
    const { agent, subject } = who;
    const principal = principalOfCheck(this.basis.caller, question, agents) ?? null;
    const request = requestOf(question, subject, principal, at);
    const evaluate = (): Evaluation => policies.evaluate(request, facts);
    const rules = { evaluate, defaultEffect, at, stops, guards };
    const answer = checkPermission(who, question, principal, rules);
    return { answer, request, effectByDefault: agent !== null && isObserved(agent, at) ? 'allow' : defaultEffect };
  }

  /**
   * Explains an answer. An agent that is suspended, is stopped or lacks the capability is evaluated as if it could act,
   * without near misses.
   */
  private *explained({ answer, request, effectByDefault }: AnsweredQuestion): Generator<null, ExplanationResponse> {
    const { policies, facts } = this.basis;
    yield null;
    const { inForce, matched, limits: explainedLimits, nearMisses } = yield* policies.explain(request, facts);
    yield null;
    const explanation = { inForce, matched, limits: explainedLimits.map(ExplainedLimitResponse.from) };
    return isUnable(answer) || answer.reason === 'extension_refused'
      ? { ...explanation, nearest: [], bestEffect: 'deny' }
      : {
          ...explanation,
          nearest: nearMisses(answer.effect),
          bestEffect: policies.bestEffect(request, effectByDefault),
        };
  }
}

/**
 * Answers checks in order.
 * @throws VALIDATION_ERROR for agents that do not exist; PERMISSION_DENIED for principals that the caller does not
 * vouch for
 */
export function* answersTo(
  questions: readonly PermissionCheck[],
  checker: PermissionChecker,
  { explains = false, isOpen = false } = {},
): Generator<AnswerResponse | null> {
  const faults = new Map(
    questions.flatMap((question) => checker.unknownFaults(question)).map((fault) => [fault.field, fault]),
  );
  if (faults.size > 0) throw invalid([...faults.values()]);
  for (const question of questions) {
    if (explains) yield yield* checker.explainedAnswer(question);
    else yield isOpen ? checker.openAnswer(question) : checker.answer(question);
  }
}

export function somebodyOf({ who }: PermissionCheck, agents: NamedAgents): Somebody {
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

/** True if the reason holds regardless of policies. */
function isUnable({ reason }: PermissionResult): boolean {
  return reason !== null && UNABLE.has(reason);
}
