import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/configuration';
import { invalid } from '../errors/domain-error';
import { BoundedQueue } from '../shared/bounded-queue';
import { Slices } from '../shared/slices';
import { ActivePolicies } from '../policies/active-policies';
import type { PlanPoliciesRequest } from './dto/plan-policies.request';
import { PolicyChangeResponse } from './dto/policy-plan.response';
import type { PolicyPlanResponse } from './dto/policy-plan.response';
import { CreationWarnings } from '../policies/creation-warnings';
import { contentOf } from '../policies/policy-content';
import type { PlannedPolicy } from './effects/effect';
import type { Caller } from '../ledger/caller';
import { replayPeriod } from './dto/replay-field.decorator';
import { Replays } from './replays';
import { PolicyTests } from './policy-tests';
import { PolicyTestsResponse } from './dto/policy-tests.response';
import { PolicyComparisons } from './policy-comparisons';
import { CurrentPolicies } from './current-policies';
import { comingIntoForce, goingOutOfForce, policyChanges } from './policy-changes';
import type { PolicyChange } from './policy-changes';
import type { Policy } from '../policies/policy.entity';

/** Each pattern can have one, which is many times longer: all of them could fill the memory. */
const MOST_WARNINGS = 1_000;
const MORE_WARNINGS = `These are the first ${MOST_WARNINGS} warnings. Plan fewer policies at once to see the others.`;
/** Policies whose warnings are found together. */
const WARNED_TOGETHER = 500;

/** Computes what a set of policies would change. Writes nothing. */
@Injectable()
export class PlanService {
  /** Taken before anything is read: many large plans would read and hold a lot. */
  private readonly queue = new BoundedQueue('Another plan', { mostWaiting: 1 });

  constructor(
    private readonly current: CurrentPolicies,
    private readonly activePolicies: ActivePolicies,
    private readonly comparisons: PolicyComparisons,
    private readonly tests: PolicyTests,
    private readonly replays: Replays,
    private readonly warnings: CreationWarnings,
    private readonly configuration: Configuration,
  ) {}

  /**
   * @throws VALIDATION_ERROR when a version exists with other content, or a test names an agent that does not exist;
   * PERMISSION_DENIED when the caller may only ask tests for its own agent; CONFLICT when there is no room for the set;
   * UNAVAILABLE when another plan is already waiting; the reason of `leaving`.
   * @param leaving aborted when nobody waits for the plan any more.
   */
  async plan(caller: Caller, request: PlanPoliciesRequest, leaving: AbortSignal): Promise<PolicyPlanResponse> {
    const { planned, answer } = await this.queue.run(() => this.compared(caller, request, leaving), leaving);
    const { replay } = request;
    if (replay === undefined) return answer;
    // Plans without replay do not wait for it.
    return { ...answer, replay: await this.replays.run(caller, replayPeriod(replay), { planned, leaving }) };
  }

  private async compared(
    caller: Caller,
    { policies, prune = false, tests }: PlanPoliciesRequest,
    leaving: AbortSignal,
  ): Promise<{ readonly planned: readonly PlannedPolicy[]; readonly answer: PolicyPlanResponse }> {
    const wanted = policies.map((policy) => contentOf(policy, this.configuration.requiredApprovals));
    const asked = tests === undefined ? null : await this.tests.asked(caller, tests);
    const known = await this.current.knownFor(wanted);
    leaving.throwIfAborted();
    const slices = new Slices();
    const { changes, faults: differences } = await policyChanges({ policies: wanted, prune }, known, slices);
    const faults = [...differences, ...(asked?.faults ?? [])];
    if (faults.length > 0) throw invalid(faults);
    await this.activePolicies.requireRoomForAll(comingIntoForce(changes), goingOutOfForce(changes), slices);
    const planned = await plannedPolicies(known.inForce, changes);
    const results = asked === null ? null : await this.tests.results(asked, targetOf(planned));
    const compared = await this.comparisons.compare(planned, leaving);
    const answer = {
      base: known.policySet,
      changes: changes.map((change) => PolicyChangeResponse.from(change)),
      effects: compared.effects,
      complete: compared.reason === null,
      reason: compared.reason,
      shadowed: compared.shadowed,
      warnings: await this.warningsOn(changes),
      ...(results !== null && { tests: PolicyTestsResponse.from(results) }),
    };
    return { planned, answer };
  }

  /** Warnings for policies that would come into force: of new versions, and those stored with old ones at creation. */
  private async warningsOn(changes: readonly PolicyChange[]): Promise<string[]> {
    const warnings: string[] = [];
    for (let start = 0; start < changes.length; start += WARNED_TOGETHER) {
      for (const warning of await this.warningsOnSome(changes.slice(start, start + WARNED_TOGETHER))) {
        if (warnings.length === MOST_WARNINGS) return [...warnings, MORE_WARNINGS];
        warnings.push(warning);
      }
    }
    return warnings;
  }

  private async warningsOnSome(changes: readonly PolicyChange[]): Promise<string[]> {
    const made = await this.warnings.ofAll(
      changes.flatMap(({ change, policy }) => (change === 'create' ? [policy] : [])),
    );
    return changes.flatMap((change) => {
      const { name, version } = change.policy;
      const warnings =
        change.change === 'create'
          ? (made.get(change.policy) ?? [])
          : change.change === 'activate'
            ? change.policy.warnings
            : [];
      return warnings.map((warning) => `${name} (version ${version}): ${warning}`);
    });
  }
}

/**
 * All policies in force before or after. Those to be created come last, ordered by their provisional ids. In chunks.
 */
async function plannedPolicies(inForce: readonly Policy[], changes: readonly PolicyChange[]): Promise<PlannedPolicy[]> {
  const slices = new Slices();
  const policies: PlannedPolicy[] = [];
  const gone = new Set(goingOutOfForce(changes).map(({ id }) => id));
  for (const policy of inForce) {
    if (slices.areDue) await slices.next();
    policies.push(planned(policy, { isBefore: true, isAfter: !gone.has(policy.id), isNew: false }));
  }
  const side = { isBefore: false, isAfter: true };
  for (const [index, { change, policy }] of changes.entries()) {
    if (slices.areDue) await slices.next();
    if (change === 'create') policies.push(planned({ ...policy, id: idToBe(index) }, { ...side, isNew: true }));
    if (change === 'activate') policies.push(planned(policy, { ...side, isNew: false }));
  }
  return policies;
}

/** The policies that would be in force. */
function targetOf(planned: readonly PlannedPolicy[]): PlannedPolicy[] {
  return planned.filter(({ isAfter }) => isAfter);
}

type Rules = Omit<PlannedPolicy, keyof PlannedSides>;
type PlannedSides = Pick<PlannedPolicy, 'isBefore' | 'isAfter' | 'isNew'>;

function planned(
  { id, name, version, effect, subjects, actions, resources, resourceTypes, priority, conditions, approval }: Rules,
  sides: PlannedSides,
): PlannedPolicy {
  return {
    id,
    name,
    version,
    effect,
    subjects,
    actions,
    resources,
    resourceTypes,
    priority,
    conditions,
    approval,
    ...sides,
  };
}

/** A provisional id, which sorts after all existing ones. */
function idToBe(index: number): string {
  return `~${String(index).padStart(6, '0')}`;
}
