import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { invalid, unavailable } from '../../core/errors/domain-error';
import { Gates, nameOf } from '../../http/gates';
import { ActivePolicies, type StoredPolicies } from '../policies/active-policies';
import { type PlanPoliciesRequest, replayPeriod } from './dto/policy-plan.requests';
import { PolicyChangeResponse, type PolicyPlanResponse } from './dto/policy-plan.response';
import { CreationWarnings } from '../policies/creation-warnings';
import { type PolicyChange, contentOf, goingOutOfForce, notInForce, policyChanges } from '../policies/policy-content';
import type { PlannedPolicy } from './effects/effect';
import type { Caller } from '../../ledger/caller';
import { RecordReader } from '../../ledger/reading/record-reader';
import { Replays } from './replays';
import { PolicyTests } from './policy-tests';
import { PolicyComparisons } from './policy-comparisons';
import { type Policy, POLICY } from '../policies/policy.entity';

/** Most attempts to read all policies in force without a change in between. */
const MOST_READINGS = 5;
/** Each pattern can have one, which is many times longer: all of them could fill the memory. */
const MOST_WARNINGS = 1_000;
const MORE_WARNINGS = `These are the first ${MOST_WARNINGS} warnings. Plan fewer policies at once to see the others.`;

/** Computes what a set of policies would change. Writes nothing. */
@Injectable()
export class PlanService {
  constructor(
    private readonly records: RecordReader,
    private readonly activePolicies: ActivePolicies,
    private readonly comparisons: PolicyComparisons,
    private readonly tests: PolicyTests,
    private readonly replays: Replays,
    private readonly warnings: CreationWarnings,
    private readonly configuration: Configuration,
    private readonly gates: Gates,
  ) {}

  /**
   * @throws VALIDATION_ERROR when a version exists with other content, or a test names an agent that does not exist;
   * PERMISSION_DENIED when the caller may only ask tests for its own agent; CONFLICT when the set is larger than
   * the limits; UNAVAILABLE when another plan of the caller is already waiting; the reason of `leaving`.
   * @param leaving aborted when nobody waits for the plan any more.
   */
  async plan(caller: Caller, request: PlanPoliciesRequest, leaving: AbortSignal): Promise<PolicyPlanResponse> {
    // Entered before anything is read: many large plans would read and hold a lot.
    const entering = { leaving };
    const { planned, answer } = await this.gates
      .of('plans')
      .run(nameOf(caller), () => this.compared(caller, request, leaving), entering);
    const { replay } = request;
    if (replay === undefined) return answer;
    // Plans without replay do not wait for it.
    return { ...answer, replay: await this.replays.run(caller, replayPeriod(replay), planned, leaving) };
  }

  private async compared(
    caller: Caller,
    { policies, prune = false, tests }: PlanPoliciesRequest,
    leaving: AbortSignal,
  ): Promise<{ readonly planned: readonly PlannedPolicy[]; readonly answer: PolicyPlanResponse }> {
    const wanted = policies.map((policy) => contentOf(policy, this.configuration.requiredApprovals));
    const asked = tests === undefined ? null : await this.tests.asked(caller, tests);
    const { policies: inForce, policySet: base } = await this.inForce();
    const others = await this.records.allAmong(POLICY, ['name', 'version'], notInForce(wanted, inForce));
    leaving.throwIfAborted();
    const { changes, faults: differences } = await policyChanges({ policies: wanted, prune }, inForce, others);
    const faults = [...differences, ...(asked?.faults ?? [])];
    if (faults.length > 0) throw invalid(faults);
    this.activePolicies.requireRoom(changes);
    const planned = plannedPolicies(inForce, changes);
    const results =
      asked === null
        ? null
        : await this.tests.results(
            asked,
            planned.filter(({ isAfter }) => isAfter),
          );
    const compared = await this.comparisons.compare(planned, leaving);
    const answer = {
      base,
      changes: changes.map((change) => PolicyChangeResponse.from(change)),
      effects: compared.effects,
      complete: compared.reason === null,
      reason: compared.reason,
      shadowed: compared.shadowed,
      warnings: shortened([...(await this.warningsOn(changes)), ...compared.warnings]),
      ...(results !== null && { tests: results }),
    };
    return { planned, answer };
  }

  /** @throws UNAVAILABLE when they keep changing. */
  private async inForce(): Promise<StoredPolicies> {
    for (let reading = 0; reading < MOST_READINGS; reading += 1) {
      await this.activePolicies.catchUp();
      const read = await this.activePolicies.read();
      if (read !== null) return read;
    }
    throw unavailable('The policies in force change too quickly to be read.');
  }

  /** Warnings for policies that would come into force: of new versions, and those stored with old ones at creation. */
  private async warningsOn(changes: readonly PolicyChange[]): Promise<string[]> {
    const created = await this.warnings.of(
      changes.flatMap(({ change, policy }) => (change === 'create' ? [policy] : [])),
    );
    return changes.flatMap(({ change, policy }) => {
      const stored = change === 'activate' ? policy.warnings : [];
      const { name, version } = policy;
      return (created.get(policy) ?? stored).map((warning) => `${name} (version ${version}): ${warning}`);
    });
  }
}

function shortened(warnings: readonly string[]): readonly string[] {
  return warnings.length > MOST_WARNINGS ? [...warnings.slice(0, MOST_WARNINGS), MORE_WARNINGS] : warnings;
}

/** All policies in force before or after. Those to be created come last, ordered by their provisional ids. */
function plannedPolicies(inForce: readonly Policy[], changes: readonly PolicyChange[]): PlannedPolicy[] {
  const gone = new Set(goingOutOfForce(changes).map(({ id }) => id));
  const side = { isBefore: false, isAfter: true };
  return [
    ...inForce.map((policy) => planned(policy, { isBefore: true, isAfter: !gone.has(policy.id), isNew: false })),
    ...changes.flatMap(({ change, policy }, index) => {
      if (change === 'create') return planned({ ...policy, id: idToBe(index) }, { ...side, isNew: true });
      return change === 'activate' ? planned(policy, { ...side, isNew: false }) : [];
    }),
  ];
}

type Sides = Pick<PlannedPolicy, 'isBefore' | 'isAfter' | 'isNew'>;

/** Only the members that a comparison needs: they are handed over to another thread. */
function planned(policy: Omit<PlannedPolicy, keyof Sides>, sides: Sides): PlannedPolicy {
  const { id, name, version, effect, subjects, actions, resources, resourceTypes } = policy;
  const { priority, conditions, limits, onBehalfOf, approval } = policy;
  const rules = { id, name, version, effect, subjects, actions, resources, resourceTypes };
  return { ...rules, priority, conditions, limits, onBehalfOf, approval, ...sides };
}

/** A provisional id, which sorts after all existing ones. */
function idToBe(index: number): string {
  return `~${String(index).padStart(6, '0')}`;
}
