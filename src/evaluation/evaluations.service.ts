import { Injectable } from '@nestjs/common';
import type { Agent } from '../agents/agent.entity';
import { findAgentAsOf } from '../agents/find-agent';
import {
  answerForAgent,
  answerForSubject,
  type DecidingRules,
  type PermissionAnswer,
} from '../authorization/permission';
import { Configuration } from '../config/configuration';
import { notThisAgent } from '../errors/caller-refusal';
import { invalid, notFound } from '../errors/domain-error';
import type { Caller } from '../ledger/caller';
import { LedgerService } from '../ledger/ledger.service';
import { RecordHistory, type Moment } from '../ledger/record-history';
import { ActivePolicies } from '../policies/active-policies';
import { PastPolicies } from '../policies/past-policies';
import type { MatchedPolicy, NearPolicy } from '../policies/evaluation/explanation';
import type { PolicySnapshot } from '../policies/evaluation/policy-evaluator';
import type { EvaluationSubject } from '../policies/patterns/subject';
import { subjectOf } from '../policies/subject-of';
import { Slices } from '../shared/slices';
import type { AskedPermission } from './asked-permission';

export interface ExplainedAnswer {
  readonly answer: PermissionAnswer;
  /** Null where none was asked for. */
  readonly explanation: AnswerExplanation | null;
}

export interface AnswerExplanation {
  readonly inForce: number;
  readonly matched: readonly MatchedPolicy[];
  readonly nearest: readonly NearPolicy[];
}

/** Questions that are being answered, all by one set of policies. */
export interface Asking {
  readonly policySet: string;
  /** False for an agent that there is not, of whom nothing can be asked. */
  readonly isKnown: (who: AskedPermission['who']) => boolean;
  readonly answer: (question: AskedPermission, explains: boolean) => ExplainedAnswer;
}

/** What a question is answered by: all that was read of who asks. */
type Resolved = Agent | EvaluationSubject;

/** Agents by what names them; undefined where nobody is so named. */
type Agents = ReadonlyMap<string, Agent | undefined>;

/** Answers whether somebody may do something, as execute would, and does nothing. */
@Injectable()
export class Evaluations {
  constructor(
    private readonly policies: ActivePolicies,
    private readonly past: PastPolicies,
    private readonly history: RecordHistory,
    private readonly ledger: LedgerService,
    private readonly configuration: Configuration,
  ) {}

  /**
   * Answers in the order of the questions, all by one set of policies.
   * @throws PERMISSION_DENIED where the caller may ask for its own agent alone; VALIDATION_ERROR for agents that do not exist.
   */
  async answers(
    caller: Caller,
    asked: readonly AskedPermission[],
    explains: boolean,
    asOf?: Moment,
  ): Promise<{ readonly answers: readonly ExplainedAnswer[]; readonly policySet: string }> {
    const everybody = asked.map(({ who }) => who);
    const work = async (asking: Asking): Promise<{ answers: ExplainedAnswer[]; policySet: string }> => ({
      answers: await answersOf(asking, asked, explains),
      policySet: asking.policySet,
    });
    if (asOf === undefined) return this.asking(caller, everybody, work);
    return work(await this.askingAsOf(caller, everybody, asOf));
  }

  /**
   * Answers in the order of the questions, by policies that need not be in force, for agents as they are now.
   * @throws PERMISSION_DENIED where the caller may ask for its own agent alone; VALIDATION_ERROR for agents that do not exist.
   */
  async answersBy(
    policies: PolicySnapshot,
    caller: Caller,
    asked: readonly AskedPermission[],
  ): Promise<PermissionAnswer[]> {
    const everybody = asked.map(({ who }) => who);
    const agents = await this.agentsOf(everybody);
    requireMayAsk(caller, everybody, agents);
    return (await answersOf(this.askingOf(policies, agents), asked, false)).map(({ answer }) => answer);
  }

  /**
   * Has questions answered by one set of policies, for as long as the work takes.
   * @param everybody about whom the questions are.
   * @throws PERMISSION_DENIED where the caller may ask for its own agent alone.
   */
  async asking<Result>(
    caller: Caller,
    everybody: readonly AskedPermission['who'][],
    work: (asking: Asking) => Promise<Result>,
  ): Promise<Result> {
    return this.withPolicies(everybody, async (policies, agents) => {
      requireMayAsk(caller, everybody, agents);
      return work(this.askingOf(policies, agents));
    });
  }

  /** The policies that were in force then, and the agents as they were. */
  private async askingAsOf(
    caller: Caller,
    everybody: readonly AskedPermission['who'][],
    asOf: Moment,
  ): Promise<Asking> {
    const sequence = await this.history.sequenceAt(asOf, 'asOf');
    // Nothing was before the first entry.
    if (sequence === 0) throw notFound('ledger at that time');
    requireMayAsk(caller, everybody, await this.agentsOf(everybody));
    return this.askingOf(await this.past.inForceAfter(sequence), await this.agentsOf(everybody, sequence));
  }

  private askingOf(policies: PolicySnapshot, agents: Agents): Asking {
    return {
      policySet: policies.policySet,
      isKnown: (who) => !('agent' in who) || agents.get(who.agent) !== undefined,
      answer: (question, explains) => this.answer(question, agents, policies, explains),
    };
  }

  /**
   * Reads the agents and takes the policies of one moment. Agents that were read before a policy changed could be let do what
   * neither the policies before nor those after would have let them.
   */
  private async withPolicies<Result>(
    everybody: readonly AskedPermission['who'][],
    work: (policies: PolicySnapshot, agents: Agents) => Promise<Result>,
  ): Promise<Result> {
    for (;;) {
      const { version } = this.policies;
      const agents = await this.agentsOf(everybody);
      await this.ledger.lookAtOthers();
      if (version !== this.policies.version) continue;
      const policies = this.policies.snapshot();
      try {
        return await work(policies, agents);
      } finally {
        policies.close();
      }
    }
  }

  private async agentsOf(everybody: readonly AskedPermission['who'][], asOf?: Moment): Promise<Agents> {
    const named = new Set(everybody.flatMap((who) => ('agent' in who ? who.agent : [])));
    const found = await Promise.all(
      [...named].map(async (name) => [name, await findAgentAsOf(this.history, name, asOf)] as const),
    );
    return new Map(found);
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
    return { answer, explanation: explains ? explained(who, question, answer, policies) : null };
  }
}

/** In slices. @throws VALIDATION_ERROR for agents that do not exist. */
async function answersOf(
  asking: Asking,
  asked: readonly AskedPermission[],
  explains: boolean,
): Promise<ExplainedAnswer[]> {
  requireKnown(
    asked.map(({ who }) => who),
    asking,
  );
  const slices = new Slices();
  const answers: ExplainedAnswer[] = [];
  for (const question of asked) {
    if (slices.areDue) await slices.next();
    answers.push(asking.answer(question, explains));
  }
  return answers;
}

function answerTo(who: Resolved, question: AskedPermission, rules: DecidingRules): PermissionAnswer {
  return 'capabilities' in who ? answerForAgent(who, question, rules) : answerForSubject(who, question, rules);
}

/** Of an agent that is suspended or lacks the capability: as if it were able, and no policy would help it. */
function explained(
  who: Resolved,
  { action, resourceType, resourceId, parameters }: AskedPermission,
  { effect, reason }: PermissionAnswer,
  policies: PolicySnapshot,
): AnswerExplanation {
  const subject = 'capabilities' in who ? subjectOf(who) : who;
  const explanation = policies.explain({ subject, action, resourceType, resourceId, parameters });
  const { inForce, matched } = explanation;
  const isUnable = reason === 'agent_suspended' || reason === 'capability_missing';
  return { inForce, matched, nearest: isUnable ? [] : explanation.nearestBetterThan(effect) };
}

function resolved({ who }: AskedPermission, agents: Agents): Resolved {
  if (!('agent' in who)) return who;
  const agent = agents.get(who.agent);
  if (agent === undefined) throw new Error(`The agent ${who.agent} was not refused as unknown.`);
  return agent;
}

/** Who is bound to an agent and may not read asks for that agent alone. */
function requireMayAsk(
  { agentId, grants }: Caller,
  everybody: readonly AskedPermission['who'][],
  agents: Agents,
): void {
  if (agentId === null || grants.has('read')) return;
  if (!everybody.every((who) => 'agent' in who && agents.get(who.agent)?.id === agentId)) throw notThisAgent();
}

function requireKnown(everybody: readonly AskedPermission['who'][], { isKnown }: Asking): void {
  const unknown = everybody.flatMap((who) => ('agent' in who && !isKnown(who) ? who.field : []));
  if (unknown.length === 0) return;
  const message = 'must be the id or the name of an existing agent';
  throw invalid([...new Set(unknown)].map((field) => ({ field, message })));
}
