import { Injectable } from '@nestjs/common';
import {
  answerForAgent,
  answerForSubject,
  type DecidingRules,
  type PermissionAnswer,
} from '../authorization/permission';
import { Configuration } from '../config/configuration';
import { invalid, notFound } from '../errors/domain-error';
import type { Caller } from '../ledger/caller';
import { RecordHistory, type Moment } from '../ledger/record-history';
import { ActivePolicies } from '../policies/active-policies';
import { PastPolicies } from '../policies/past-policies';
import type { PolicySnapshot } from '../policies/evaluation/policy-evaluator';
import type { EvaluationSubject } from '../policies/patterns/subject';
import { inSlices, Slices } from '../shared/slices';
import { type AnswerExplanation, explained } from './answer-explanation';
import { AnsweredApprovals } from './answered-approvals';
import { type Agents, agentsOf, isKnown, type KnownAgent, unknownAgentFaults } from './asked-agents';
import type { AskedPermission } from './asked-permission';
import { requireMayAsk } from './may-ask';
import { SUBJECT_ROLES } from './question-faults';

export interface ExplainedAnswer {
  readonly answer: PermissionAnswer;
  /** Null if none was asked for. */
  readonly explanation: AnswerExplanation | null;
}

/** How questions are to be answered. */
export interface AnswerTerms {
  readonly explains: boolean;
  /** Undefined: as of now. */
  readonly asOf: Moment | undefined;
  /** Aborted when nobody waits for the answers any more. */
  readonly leaving: AbortSignal;
}

/** Answers questions, all with the same set of policies. */
export interface Asking {
  readonly policySet: string;
  /** False for an agent that does not exist; questions about it cannot be answered. */
  readonly isKnown: (who: AskedPermission['who']) => boolean;
  readonly answer: (question: AskedPermission, explains: boolean) => ExplainedAnswer;
}

/** What is known about the subject of a question. */
type Resolved = KnownAgent | EvaluationSubject;

/** Answers whether somebody may do something, as execute would, without any effect. */
@Injectable()
export class Evaluations {
  constructor(
    private readonly policies: ActivePolicies,
    private readonly past: PastPolicies,
    private readonly history: RecordHistory,
    private readonly configuration: Configuration,
  ) {}

  /**
   * Answers in the order of the questions, all with the same set of policies.
   * @throws PERMISSION_DENIED when the caller may only ask for its own agent; VALIDATION_ERROR for agents that do not
   * exist; UNAVAILABLE when too many others ask about earlier times.
   */
  async answers(
    caller: Caller,
    asked: readonly AskedPermission[],
    { explains, asOf, leaving }: AnswerTerms,
  ): Promise<{ readonly answers: readonly ExplainedAnswer[]; readonly policySet: string }> {
    const everybody = asked.map(({ who }) => who);
    const work = async (asking: Asking): Promise<{ answers: ExplainedAnswer[]; policySet: string }> => {
      const answers = await answersOf(asking, asked, explains);
      const approvals = new AnsweredApprovals('requests');
      for (const { answer } of answers) approvals.add(answer.requirement);
      return { answers, policySet: asking.policySet };
    };
    if (asOf === undefined) return this.asking(caller, everybody, work);
    return this.askingAsOf(caller, everybody, { asOf, leaving }, work);
  }

  /**
   * Answers in the order of the questions, with policies that need not be in force. Whether the caller may ask is not
   * checked.
   * @param agents of the questions.
   * @throws VALIDATION_ERROR for agents that do not exist.
   */
  async answersBy(
    policies: PolicySnapshot,
    asked: readonly AskedPermission[],
    agents: Agents,
  ): Promise<PermissionAnswer[]> {
    return (await answersOf(this.askingOf(policies, agents), asked, false)).map(({ answer }) => answer);
  }

  /**
   * Lets the work ask questions of one set of policies, for as long as it takes.
   * @param everybody the subjects of the questions.
   * @throws PERMISSION_DENIED when the caller may only ask for its own agent.
   */
  async asking<Result>(
    caller: Caller,
    everybody: readonly AskedPermission['who'][],
    work: (asking: Asking) => Promise<Result>,
  ): Promise<Result> {
    return this.withPolicies(everybody, async (policies, agents) => {
      await requireMayAsk(caller, everybody, () => agents);
      await prepareSubjects(policies, everybody);
      return work(this.askingOf(policies, agents));
    });
  }

  /** With the policies that were in force at the time, and the agents as they were. */
  private async askingAsOf<Result>(
    caller: Caller,
    everybody: readonly AskedPermission['who'][],
    { asOf, leaving }: { readonly asOf: Moment; readonly leaving: AbortSignal },
    work: (asking: Asking) => Promise<Result>,
  ): Promise<Result> {
    const sequence = await this.history.wholeChangeAt(asOf, 'policySet', 'asOf');
    // Nothing existed before the first entry.
    if (sequence === 0) throw notFound('ledger at that time');
    await requireMayAsk(caller, everybody, () => agentsOf(this.history, everybody));
    const agents = await agentsOf(this.history, everybody, sequence);
    return this.past.inForceAfter(sequence, (policies) => work(this.askingOf(policies, agents)), leaving);
  }

  private askingOf(policies: PolicySnapshot, agents: Agents): Asking {
    return {
      policySet: policies.policySet,
      isKnown: (who) => isKnown(who, agents),
      answer: (question, explains) => this.answer(question, agents, policies, explains),
    };
  }

  /**
   * Reads agents and policies as a consistent snapshot. Agents read before a policy change could be allowed what
   * neither the policies before nor those after would have allowed.
   */
  private async withPolicies<Result>(
    everybody: readonly AskedPermission['who'][],
    work: (policies: PolicySnapshot, agents: Agents) => Promise<Result>,
  ): Promise<Result> {
    for (;;) {
      const { version } = this.policies;
      const agents = await agentsOf(this.history, everybody);
      await this.policies.catchUp();
      if (version !== this.policies.version) continue;
      const policies = this.policies.snapshot();
      try {
        return await work(policies, agents);
      } finally {
        policies.close();
      }
    }
  }

  private answer(
    question: AskedPermission,
    agents: Agents,
    policies: PolicySnapshot,
    explains: boolean,
  ): ExplainedAnswer {
    const { policyDefaultEffect: defaultEffect } = this.configuration;
    const who = resolved(question, agents);
    const answer = answerTo(who, question, { evaluate: policies.evaluate, defaultEffect });
    return {
      answer,
      explanation: explains ? explained(subjectOf(who), question, answer, policies, defaultEffect) : null,
    };
  }
}

/** In chunks: a subject that is not a registered agent may have as many roles as fit into a body. */
async function prepareSubjects(policies: PolicySnapshot, everybody: readonly AskedPermission['who'][]): Promise<void> {
  const slices = new Slices();
  for (const who of everybody)
    if ('roles' in who && who.roles.length > SUBJECT_ROLES.maxItems) await inSlices(policies.prepare(who), slices);
}

/** In chunks. @throws VALIDATION_ERROR for agents that do not exist. */
async function answersOf(
  asking: Asking,
  asked: readonly AskedPermission[],
  explains: boolean,
): Promise<ExplainedAnswer[]> {
  const faults = unknownAgentFaults(asked, asking.isKnown);
  if (faults.length > 0) throw invalid(faults);
  const slices = new Slices();
  const answers: ExplainedAnswer[] = [];
  for (const question of asked) {
    if (slices.areDue) await slices.next();
    answers.push(asking.answer(question, explains));
  }
  return answers;
}

function answerTo(who: Resolved, question: AskedPermission, rules: DecidingRules): PermissionAnswer {
  return 'agent' in who
    ? answerForAgent(who.agent, question, rules, who.subject)
    : answerForSubject(who, question, rules);
}

function subjectOf(who: Resolved): EvaluationSubject {
  return 'agent' in who ? who.subject : who;
}

function resolved({ who }: AskedPermission, agents: Agents): Resolved {
  if (!('agent' in who)) return who;
  const agent = agents.get(who.agent);
  if (agent === undefined) throw new Error(`The agent ${who.agent} was not refused as unknown.`);
  return agent;
}
