import type { GrantFinder } from '../../decisions/grants/grant-finder';
import type { FactReader } from '../facts';
import { Gates } from '../../../http/gates';
import type { Configuration } from '../../../core/config/configuration';
import { SYSTEM_CALLER } from '../../../ledger/kinds/caller';
import type { RecordHistory } from '../../../ledger/record-history';
import type { ActivePolicies } from '../../policies/active-policies';
import { compilePolicy, type PolicyRules } from '../../policies/evaluation/compiled-policy';
import type { ActionGuards } from '../action-guards';
import { PolicyEvaluator, policySetOf } from '../../policies/evaluation/policy-evaluator';
import type { PastPolicies } from '../../policies/past-policies';
import type { ActiveStops } from '../../stops/active-stops';
import type { Stop } from '../../stops/stop.entity';
import { TimeSlice } from '../../../core/concurrency/time-slice';
import { Evaluations } from './evaluations.service';
import { answersTo } from './permission-checker';

const LISTS = { subjects: ['*'], actions: ['*'], resources: ['*'], resourceTypes: [] };
const RULES = {
  ...LISTS,
  version: '1',
  priority: 0,
  conditions: [],
  limits: [],
  onBehalfOf: [],
  approval: null,
  team: null,
};
const ALLOW: PolicyRules = { ...RULES, id: 'pol_1', name: 'allow', effect: 'allow' };
const DENY: PolicyRules = { ...RULES, id: 'pol_2', name: 'deny', effect: 'deny' };
const QUESTION = {
  who: { type: 'user', id: 'x', roles: [] },
  action: 'read',
  resourceType: 'document',
  resourceId: 'a',
  parameters: {},
};

describe('Answers to a list', () => {
  let clock: jest.SpyInstance;
  const evaluator = new PolicyEvaluator();
  const evaluations = new Evaluations(
    { inForce: evaluator, catchUp: () => Promise.resolve() } as unknown as ActivePolicies,
    {} as PastPolicies,
    {} as RecordHistory,
    { policyDefaultEffect: 'deny' } as Configuration,
    { refusalOf: () => null } as unknown as ActionGuards,
    { active: [] as readonly Stop[] } as ActiveStops,
    { sourceAt: () => ({}) } as unknown as FactReader,
    {} as GrantFinder,
    new Gates({} as Configuration),
  );

  beforeEach(() => {
    let now = 0;
    // Each check of the clock finds that the turn is over.
    clock = jest.spyOn(performance, 'now').mockImplementation(() => (now += 5));
    evaluator.put([], [DENY.id]);
    evaluator.put([compilePolicy(ALLOW)], []);
  });
  afterEach(async () => {
    // The turn that began last is forgotten: the next clock begins anew.
    await new Promise(setImmediate);
    clock.mockRestore();
  });

  function toggle(): void {
    if (isDenied()) evaluator.put([], [DENY.id]);
    else evaluator.put([compilePolicy(DENY)], []);
  }

  function isDenied(): boolean {
    return evaluator.policySet === policySetOf([ALLOW.id, DENY.id]);
  }

  it.each([1, 2, 3, 1_000])('are all by one set, which others change %i times meanwhile', async (changes) => {
    let left = changes;
    let made = 0;
    const { answers, policySet } = await evaluations.check({
      caller: SYSTEM_CALLER,
      questions: [],
      field: 'requests',
      answers: function* (checker) {
        for (let question = 0; question < 10; question += 1) {
          made += 1;
          yield question % 2 === 0
            ? (yield* checker.explainedAnswer(QUESTION)).effect
            : checker.answer(QUESTION).effect;
          if (left-- > 0) setImmediate(toggle);
        }
      },
    });
    const effect = policySet === policySetOf([ALLOW.id]) ? 'allow' : 'deny';
    expect(made).toBeGreaterThan(10);
    expect(answers).toEqual(Array(10).fill(effect));
    if (changes < 5) expect(policySet).toBe(evaluator.policySet);
  });

  it('give way after each, even when others never stop changing the policies', async () => {
    let turns = 0;
    let isOver = false;
    const change = (): void => {
      toggle();
      turns += 1;
      if (!isOver) setImmediate(change);
    };
    setImmediate(change);
    const seen = new Set<number>();
    await evaluations.check({
      caller: SYSTEM_CALLER,
      questions: [],
      field: 'requests',
      answers: function* (checker) {
        seen.clear();
        for (let question = 0; question < 10; question += 1) {
          seen.add(turns);
          yield checker.answer(QUESTION);
        }
      },
    });
    isOver = true;
    await new Promise(setImmediate);
    expect(seen.size).toBe(10);
  });

  it('give way within an explanation, whose steps do not grow with the number of policies', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => ({ ...ALLOW, id: `pol_1${index}`, name: `${index}` }));
    evaluator.put(many.map(compilePolicy), []);
    const [begun, question] = [TimeSlice.begun, { ...QUESTION, action: 'write' }];
    const { answers } = await evaluations.check({
      caller: SYSTEM_CALLER,
      questions: [],
      field: 'requests',
      answers: (checker) => answersTo([question], checker, { explains: true }),
    });
    evaluator.put(
      [],
      many.map(({ id }) => id),
    );
    expect(answers).toHaveLength(1);
    expect(answers[0]?.explanation?.inForce).toBe(5_001);
    expect(TimeSlice.begun - begun).toBeGreaterThan(30);
  });

  it.each(['answer', 'openAnswer'] as const)('may not repeat approvers beyond the memory (%s)', async (kind) => {
    const subjects = Array.from({ length: 100 }, (_, index) => `agent:${index}${'x'.repeat(490)}`);
    const within = { decideWithin: 'P1D', executeWithin: 'PT1H' } as const;
    const approval = { riskLevel: 'medium', approvers: [{ subjects, approvals: 1 }], ...within } as const;
    const approved: PolicyRules = { ...RULES, id: 'pol_3', name: 'approved', effect: 'require_approval', approval };
    evaluator.put([compilePolicy(approved)], []);
    const result = evaluations.check({
      caller: SYSTEM_CALLER,
      questions: [],
      field: 'requests',
      answers: (checker) => Array.from({ length: 1_000 }, () => checker[kind](QUESTION)),
    });
    await expect(result).rejects.toThrow('requests must be fewer');
    evaluator.put([], [approved.id]);
  });
});
