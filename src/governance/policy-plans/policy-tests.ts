import { Injectable } from '@nestjs/common';
import { type FieldFault, invalid, requirePresent } from '../../core/errors/domain-error';
import {
  agentsOf,
  ofCallersTeam,
  unknownFaults,
  permissionCheck,
  type PermissionCheck,
  requireMayCheck,
} from '../permissions/evaluation/permission-checks';
import { SecretRedaction } from '../secrets/secret-redaction';
import type { NamedAgents } from '../agents/find-agent';
import { PermissionChecker, type CheckContext } from '../permissions/evaluation/permission-checker';
import type { AnswerResponse } from '../permissions/evaluation/dto/evaluation.response';
import { Configuration } from '../../core/config/configuration';
import { MAX_COMPARISONS_OF_EXPLANATION } from '../policies/evaluation/comparison-bounds';
import { ComparisonCounter } from '../policies/evaluation/comparison-counter';
import { PolicyEvaluator } from '../policies/evaluation/policy-evaluator';
import type { Caller } from '../../ledger/kinds/caller';
import { RecordHistory } from '../../ledger/record-history';
import { finishInTurns, yieldBetween } from '../../core/concurrency/time-slice';
import { type DecidingPolicy, MAX_DECIDING_POLICIES } from '../policies/evaluation/evaluation';
import type { PolicyTestRequest } from './dto/policy-plan.requests';
import type { FailedPolicyTestResponse, PolicyTestsResponse, TestedPolicyResponse } from './dto/policy-plan.response';
import type { PlannedPolicy } from './effects/planned-match';
import { testFacts, usedFaults } from './test-facts';

/** Tests as checks, and the agents that they are about. */
interface PreparedTests {
  readonly questions: readonly PermissionCheck[];
  readonly agents: NamedAgents;
  /** Faults of tests about agents that do not exist; these tests have no results. */
  readonly faults: readonly FieldFault[];
}

/**
 * Principals for tests. A test has no effects, so a caller who may plan may test on behalf of anybody, even with a
 * token.
 */
const ANYBODY = { principals: 'anybody' } as const;
/** Id that no agent has, so that no pattern matches it. */
const UNREGISTERED = 'agt_';
/** Most tests that are explained, because each explanation examines all policies. */
const MAX_EXPLAINED = 50;

/** Runs tests against a set of policies that is not in force. */
@Injectable()
export class PolicyTests {
  constructor(
    private readonly configuration: Configuration,
    private readonly history: RecordHistory,
    private readonly secrets: SecretRedaction,
  ) {}

  /**
   * @param team team whose policies are planned; null for those of none @throws PERMISSION_DENIED if the caller may
   * only test its own agent
   */
  async prepare(caller: Caller, tests: readonly PolicyTestRequest[], team: string | null): Promise<PreparedTests> {
    const all = tests.map((test, index) => asOneOfMany(permissionCheck(test, {}, `tests[${index}].`)));
    const sent = caller.team === undefined ? all.map((check) => withTeam(check, team)) : ofCallersTeam(caller, all);
    const questions = await this.secrets.redactQuestions(sent, 'tests');
    const inquirer = { ...caller, ...ANYBODY, ...(team !== null && { team }) };
    const agents = await agentsOf(this.history, inquirer, questions);
    requireMayCheck(inquirer, questions, agents);
    return { questions, agents, faults: questions.flatMap((question) => unknownFaults(inquirer, question, agents)) };
  }

  /**
   * @param target policies of the set @throws VALIDATION_ERROR for a test that has used a limit which the set lacks, or
   * has too long lists
   */
  async results(
    tests: readonly PolicyTestRequest[],
    { questions, agents }: PreparedTests,
    target: readonly PlannedPolicy[],
  ): Promise<PolicyTestsResponse> {
    const { now } = this.history;
    const { policyDefaultEffect: defaultEffect } = this.configuration;
    const byName = new Map(target.map((policy) => [policy.name, policy]));
    const faults = usedFaults(tests, byName);
    if (faults.length > 0) throw invalid(faults);
    const policies = await PolicyEvaluator.build(target);
    const created = new Set(target.flatMap(({ id, isNew }) => (isNew ? id : [])));
    const tested = ({ id, name, version, effect }: DecidingPolicy): TestedPolicyResponse => {
      return { id: created.has(id) ? null : id, name, version, effect };
    };
    const failed: FailedPolicyTestResponse[] = [];
    const comparisons = new ComparisonCounter(policies, { field: 'tests' });
    for await (const [index, { expect, by, at, earlier, used }] of yieldBetween(tests.entries())) {
      const question = requirePresent(questions[index], 'question of a test');
      const basis = { caller: ANYBODY, agents, defaultEffect, at: at ?? now };
      const request = new PermissionChecker({ policies, ...basis }).requestFor(question);
      comparisons.count(request, `tests[${index}].parameters`);
      const facts = testFacts({ earlier, used }, request, policies.factQueries(request));
      const checker = new PermissionChecker({ policies, ...basis, facts });
      const answer = checker.answer(question);
      const isAsExpected =
        answer.effect === expect &&
        (by === undefined || (await this.decides(by, byName, question, answer, { ...basis, facts })));
      if (isAsExpected) continue;
      const isMoreExpected = answer.effect !== expect && expect !== 'deny' && answer.effect !== 'allow';
      const isExplained =
        isMoreExpected &&
        failed.length < MAX_EXPLAINED &&
        policies.comparisons(request, true) <= MAX_COMPARISONS_OF_EXPLANATION;
      const explained = isExplained ? await finishInTurns(checker.explainedAnswer(question)) : answer;
      const near = explained.explanation?.nearest ?? [];
      const nearest = near.map(({ policy, missing }) => ({ policy: tested(policy), missing }));
      const { effect, reason } = answer;
      const decided = { effect, reason, policies: answer.policies.map(tested) };
      failed.push({ index, expect, ...decided, ...(nearest.length > 0 && { nearest }) });
    }
    return { passed: tests.length - failed.length, failed };
  }

  /**
   * True if the policy decides the check. An answer lists at most ten deciding policies; if it lists ten, the policy is
   * compared with the first alone.
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
    const two = new PermissionChecker({ policies: await PolicyEvaluator.build([deciding, policy]), ...basis });
    return two.answer(question).policies.some(({ id }) => id === policy.id);
  }
}

/** Returns the check for a plan of a team: a subject is in that team, unless it names another. */
function withTeam(check: PermissionCheck, team: string | null): PermissionCheck {
  const { who } = check;
  return 'agentId' in who ? { ...check, who: { ...who, team: who.team ?? team } } : check;
}

/**
 * Gives an agent that is not registered an id: it may use limits as any other, because tests concern its future
 * actions.
 */
function asOneOfMany(question: PermissionCheck): PermissionCheck {
  const { who } = question;
  return 'agentId' in who ? { ...question, who: { ...who, agentId: UNREGISTERED } } : question;
}
