import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/configuration';
import { ActivePolicies } from '../policies/active-policies';
import type { PlanPoliciesRequest } from './dto/plan-policies.request';
import { PolicyChangeResponse } from './dto/policy-plan.response';
import type { PolicyPlanResponse } from './dto/policy-plan.response';
import { CreationWarnings } from '../policies/creation-warnings';
import { contentOf } from '../policies/policy-content';
import { policySetOf } from '../policies/policy-set';
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
import { SerialQueue } from './serial-queue';

/** Computes what a set of policies would change. Writes nothing. */
@Injectable()
export class PlanService {
  /** Taken before anything is read: many large plans would read and hold a lot. */
  private readonly queue = new SerialQueue('Another plan');

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
   * UNAVAILABLE when another plan is already waiting.
   */
  async plan(caller: Caller, request: PlanPoliciesRequest): Promise<PolicyPlanResponse> {
    const { planned, answer } = await this.queue.run(() => this.compared(caller, request));
    const { replay } = request;
    if (replay === undefined) return answer;
    // Plans without replay do not wait for it.
    return { ...answer, replay: await this.replays.run(caller, replayPeriod(replay), planned) };
  }

  private async compared(
    caller: Caller,
    { policies, prune = false, tests }: PlanPoliciesRequest,
  ): Promise<{ readonly planned: readonly PlannedPolicy[]; readonly answer: PolicyPlanResponse }> {
    const wanted = policies.map((policy) => contentOf(policy, this.configuration.requiredApprovals));
    const known = await this.current.knownFor(wanted);
    const changes = policyChanges({ policies: wanted, prune }, known);
    this.activePolicies.requireRoomForAll(comingIntoForce(changes), goingOutOfForce(changes));
    const planned = plannedPolicies(known.inForce, changes);
    const results = tests === undefined ? null : await this.tests.results(caller, tests, targetOf(planned));
    const compared = await this.comparisons.compare(planned);
    const answer = {
      base: policySetOf(known.inForce.map(({ id }) => id)),
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

/** All policies in force before or after. Those to be created come last, ordered by their provisional ids. */
function plannedPolicies(inForce: readonly Policy[], changes: readonly PolicyChange[]): PlannedPolicy[] {
  const gone = new Set(goingOutOfForce(changes).map(({ id }) => id));
  const before = inForce.map((policy) =>
    planned(policy, { isBefore: true, isAfter: !gone.has(policy.id), isNew: false }),
  );
  const coming = changes.flatMap((change, index): PlannedPolicy[] => {
    const side = { isBefore: false, isAfter: true };
    if (change.change === 'create') return [planned({ ...change.policy, id: idToBe(index) }, { ...side, isNew: true })];
    return change.change === 'activate' ? [planned(change.policy, { ...side, isNew: false })] : [];
  });
  return [...before, ...coming];
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
