import { Injectable } from '@nestjs/common';
import { type FieldFault, requirePresent } from '../../core/errors/domain-error';
import {
  agentsOf,
  unknownFaults,
  askedPermission,
  type PermissionCheck,
  requireMayAsk,
} from '../permissions/evaluation/permission-checks';
import type { NamedAgents } from '../agents/find-agent';
import { Asking, type CheckContext } from '../permissions/evaluation/evaluations.service';
import type { AnswerResponse } from '../permissions/evaluation/dto/evaluation.response';
import { Configuration } from '../../core/config/configuration';
import { PolicyEvaluator } from '../policies/evaluation/policy-evaluator';
import type { Caller } from '../../ledger/caller';
import { RecordHistory } from '../../ledger/record-history';
import { yieldBetween } from '../../core/concurrency/time-slice';
import { type DecidingPolicy, MAX_DECIDING_POLICIES, type Facts } from '../policies/evaluation/evaluation';
import { NO_FACTS } from '../policies/conditions/condition';
import type { PolicyTestRequest } from './dto/policy-plan.requests';
import type { FailedPolicyTestResponse, PolicyTestsResponse, TestedPolicyResponse } from './dto/policy-plan.response';
import type { PlannedPolicy } from './effects/planned-match';

/** Tests as questions, and the agents that they are about. */
interface AskedTests {
  readonly questions: readonly PermissionCheck[];
  readonly agents: NamedAgents;
  /** Of tests that are about agents that do not exist: they have no results. */
  readonly faults: readonly FieldFault[];
}

/** A test does nothing, so a caller who may plan may test on behalf of anybody, whatever its token says. */
const ANYBODY = { principals: 'anybody' } as const;
/** In a test no execution has taken place before, and nothing is claimed. */
const NOTHING_USED: Facts = { ...NO_FACTS, sums: new Map() };
/** Not the id of an agent, so no pattern matches it. */
const UNREGISTERED = 'agt_';
/** Tests that are explained: each examines all policies. */
const MOST_EXPLAINED = 50;

/** Runs tests against a set of policies that is not in force. */
@Injectable()
export class PolicyTests {
  constructor(
    private readonly configuration: Configuration,
    private readonly history: RecordHistory,
  ) {}

  /** @throws PERMISSION_DENIED when the caller may only ask for its own agent. */
  async asked(caller: Caller, tests: readonly PolicyTestRequest[]): Promise<AskedTests> {
    const questions = tests.map((test, index) => asOneOfMany(askedPermission(test, {}, `tests[${index}].`)));
    const asker = { ...caller, ...ANYBODY };
    const agents = await agentsOf(this.history, asker, questions);
    requireMayAsk(asker, questions, agents);
    return { questions, agents, faults: questions.flatMap((question) => unknownFaults(asker, question, agents)) };
  }

  /** @param target the policies of the set. */
  async results(
    tests: readonly PolicyTestRequest[],
    { questions, agents }: AskedTests,
    target: readonly PlannedPolicy[],
  ): Promise<PolicyTestsResponse> {
    const { now } = this.history;
    const { policyDefaultEffect: defaultEffect } = this.configuration;
    const policies = await PolicyEvaluator.build(target);
    const byName = new Map(target.map((policy) => [policy.name, policy]));
    const created = new Set(target.flatMap(({ id, isNew }) => (isNew ? id : [])));
    const tested = ({ id, name, version, effect }: DecidingPolicy): TestedPolicyResponse => {
      return { id: created.has(id) ? null : id, name, version, effect };
    };
    const failed: FailedPolicyTestResponse[] = [];
    for await (const [index, { expect, by, at }] of yieldBetween(tests.entries())) {
      const question = requirePresent(questions[index], 'question of a test');
      const basis = { caller: ANYBODY, agents, defaultEffect, at: at ?? now, facts: NOTHING_USED };
      const asking = new Asking({ policies, ...basis });
      const answer = asking.answer(question);
      const isAsExpected =
        answer.effect === expect && (by === undefined || (await this.decides(by, byName, question, answer, basis)));
      if (isAsExpected) continue;
      const isMoreExpected = answer.effect !== expect && expect !== 'deny' && answer.effect !== 'allow';
      const isExplained = isMoreExpected && failed.length < MOST_EXPLAINED;
      const near = isExplained ? (asking.answer(question, true).explanation?.nearest ?? []) : [];
      const nearest = near.map(({ policy, missing }) => ({ policy: tested(policy), missing }));
      const { effect, reason } = answer;
      const decided = { effect, reason, policies: answer.policies.map(tested) };
      failed.push({ index, expect, ...decided, ...(nearest.length > 0 && { nearest }) });
    }
    return { passed: tests.length - failed.length, failed };
  }

  /**
   * Whether a policy is among those that decided. An answer lists at most ten; if there are more, the policy is
   * compared with one of them.
   */
  private async decides(
    name: string,
    target: ReadonlyMap<string, PlannedPolicy>,
    question: PermissionCheck,
    { policies }: AnswerResponse,
    basis: Omit<CheckContext, 'policies'>,
  ): Promise<boolean> {
    const policy = target.get(name);
    const [first] = policies;
    const deciding = first === undefined ? undefined : target.get(first.name);
    if (policy === undefined || deciding === undefined) return false;
    if (policies.length < MAX_DECIDING_POLICIES) return policies.some(({ id }) => id === policy.id);
    const two = new Asking({ policies: await PolicyEvaluator.build([deciding, policy]), ...basis });
    return two.answer(question).policies.some(({ id }) => id === policy.id);
  }
}

/** An agent that is not registered yet may use limits as any other: they are about what it will do. */
function asOneOfMany(question: PermissionCheck): PermissionCheck {
  const { who } = question;
  return 'agentId' in who ? { ...question, who: { ...who, agentId: UNREGISTERED } } : question;
}
