import { Injectable } from '@nestjs/common';
import { yieldBetween } from '../../core/concurrency/time-slice';
import { Configuration } from '../../core/config/configuration';
import { invalid, preconditionFailed } from '../../core/errors/domain-error';
import { Gates, callerKey } from '../../http/gates';
import type { Caller } from '../../ledger/caller';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { RecordReader } from '../../ledger/reading/record-reader';
import { ActivePolicies } from '../policies/active-policies';
import { CreationWarnings } from '../policies/creation-warnings';
import type { CreatePolicyRequest } from '../policies/dto/policy.dto';
import {
  type PolicyChange,
  type PolicyContent,
  type WantedPolicies,
  contentOf,
  goingOutOfForce,
  policyChanges,
} from '../policies/policy-content';
import { isNameWarning } from '../policies/unknown-names';
import type { PolicyRules } from '../policies/evaluation/compiled-policy';
import { type Policy, POLICY } from '../policies/policy.entity';
import { type ApplyPoliciesRequest, type PlanPoliciesRequest, replayPeriod } from './dto/policy-plan.requests';
import {
  type AppliedPoliciesResponse,
  PolicyChangeResponse,
  type PolicyPlanResponse,
  type PolicyReplayResponse,
} from './dto/policy-plan.response';
import type { PlannedPolicy } from './effects/planned-match';
import { PolicyComparisons } from './policy-comparisons';
import { PolicyTests } from './policy-tests';
import { Replays } from './replays';

/** Each pattern can have one, which is many times longer: all of them could fill the memory. */
const MOST_WARNINGS = 1_000;
const MORE_WARNINGS = `These are the first ${MOST_WARNINGS} warnings. Plan fewer policies at once to see the others.`;

/** Whole sets of policies: what one would change, and bringing it into force in one commit. */
@Injectable()
export class PolicySetsService {
  constructor(
    private readonly ledger: LedgerService,
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
   * Computes what a set would change, and writes nothing.
   * @throws VALIDATION_ERROR when a version exists with other content, or a test names an agent that does not exist;
   * PERMISSION_DENIED when the caller may only ask tests for its own agent; CONFLICT when the set is larger than
   * the limits; UNAVAILABLE when another plan, or replay, of the caller is already waiting; the reason of `signal`.
   * @param signal aborted when nobody waits for the plan any more.
   */
  async plan(caller: Caller, request: PlanPoliciesRequest, signal: AbortSignal): Promise<PolicyPlanResponse> {
    // Entered before anything is read: many large plans would read and hold a lot.
    const compared = (): ReturnType<typeof this.compared> => this.compared(caller, request, signal);
    const { planned, answer } = await this.gates.of('plans').run(callerKey(caller), compared, { signal });
    const { replay } = request;
    if (replay === undefined) return answer;
    // Plans without replay do not wait for it.
    const replayed = (): Promise<PolicyReplayResponse> =>
      this.replays.run(caller, replayPeriod(replay), planned, signal);
    return { ...answer, replay: await this.gates.of('replays').run(callerKey(caller), replayed, { signal }) };
  }

  /**
   * @throws PRECONDITION_FAILED when other policies are in force than those planned for; VALIDATION_ERROR when a
   * version exists with other content; CONFLICT when the set is larger than the limits; UNAVAILABLE when too many
   * others are being applied.
   */
  async apply(caller: Caller, request: ApplyPoliciesRequest, signal: AbortSignal): Promise<AppliedPoliciesResponse> {
    const { base, prune = false } = request;
    const policies = await this.contentsOf(request.policies);
    // What takes many reads is done outside the ledger's commands.
    const warnings = await this.warnings.of(policies);
    const applied = (): Promise<AppliedPoliciesResponse> =>
      this.ledger.write(caller, async (transaction) => {
        if (!this.isInForce(base))
          throw preconditionFailed(
            'The policies in force are not those that the base names. Plan the set again, and apply it with the base of that plan.',
          );
        const changes = await changesFor(transaction, { policies, prune }, this.activePolicies.stored);
        const { ids, policySet } = await this.activePolicies.carryOut(transaction, changes, warnings);
        return { changes: await changeResponses(changes, ids), policySet };
      });
    await this.activePolicies.catchUp();
    // The command refuses another base, or repeats its answer to the same Idempotency-Key: neither takes long.
    if (!this.isInForce(base)) return applied();
    return this.gates.of('applications').run(callerKey(caller), applied, { signal });
  }

  private async contentsOf(policies: readonly CreatePolicyRequest[]): Promise<PolicyContent[]> {
    const contents: PolicyContent[] = [];
    for await (const policy of yieldBetween(policies))
      contents.push(contentOf(policy, this.configuration.requiredApprovals));
    return contents;
  }

  private isInForce(base: string): boolean {
    return this.activePolicies.inForce.policySet === base;
  }

  private async compared(
    caller: Caller,
    { policies, prune = false, tests }: PlanPoliciesRequest,
    signal: AbortSignal,
  ): Promise<{ readonly planned: readonly PlannedPolicy[]; readonly answer: PolicyPlanResponse }> {
    const wanted = await this.contentsOf(policies);
    const asked = tests === undefined ? null : await this.tests.asked(caller, tests);
    await this.activePolicies.catchUp();
    const { stored, inForce } = this.activePolicies;
    const base = inForce.policySet;
    const { changes, faults: differences } = await policyChanges({ policies: wanted, prune }, stored, (versions) =>
      this.records.allAmong(POLICY, ['name', 'version'], versions),
    );
    signal.throwIfAborted();
    const faults = [...differences, ...(asked?.faults ?? [])];
    if (faults.length > 0) throw invalid(faults);
    await this.activePolicies.requireRoom(changes);
    const planned = await plannedPolicies(stored, changes);
    const target = planned.filter(({ isAfter }) => isAfter);
    const results = asked === null ? null : await this.tests.results(tests ?? [], asked, target);
    const compared = await this.comparisons.compare(planned, signal);
    const warnings = [...(await this.warningsOn(changes)), ...compared.warnings];
    const answer = {
      base,
      changes: await changeResponses(changes),
      effects: compared.effects,
      complete: compared.reason === null,
      reason: compared.reason,
      shadowed: compared.shadowed,
      warnings: warnings.length > MOST_WARNINGS ? [...warnings.slice(0, MOST_WARNINGS), MORE_WARNINGS] : warnings,
      ...(results !== null && { tests: results }),
    };
    return { planned, answer };
  }

  /** Warnings for policies that would come into force: of new versions, and those stored with old ones at creation. */
  private async warningsOn(changes: readonly PolicyChange[]): Promise<string[]> {
    const created = await this.warnings.of(
      changes.flatMap(({ change, policy }) => (change === 'create' ? [policy] : [])),
    );
    return changes.flatMap(({ change, policy }) => {
      // Those of names may no longer hold: the comparison finds those that do.
      const stored = change === 'activate' ? policy.warnings.filter((warning) => !isNameWarning(warning)) : [];
      const { name, version } = policy;
      return (created.get(policy) ?? stored).map((warning) => `${name} (version ${version}): ${warning}`);
    });
  }
}

/** @param ids of the policies of the changes, after they were carried out. */
async function changeResponses(
  changes: readonly PolicyChange[],
  ids: readonly string[] = [],
): Promise<PolicyChangeResponse[]> {
  const responses: PolicyChangeResponse[] = [];
  for await (const [index, change] of yieldBetween(changes.entries()))
    responses.push(PolicyChangeResponse.from(change, ids[index]));
  return responses;
}

/** All policies in force before or after. Those to be created come last, ordered by their provisional ids. */
async function plannedPolicies(
  inForce: readonly Policy[],
  changes: readonly PolicyChange[],
): Promise<readonly PlannedPolicy[]> {
  const gone = new Set(goingOutOfForce(changes).map(({ id }) => id));
  const all: PlannedPolicy[] = [];
  for await (const policy of yieldBetween(inForce))
    all.push(planned(policy, policy.id, { isBefore: true, isAfter: !gone.has(policy.id), isNew: false }));
  const side = { isBefore: false, isAfter: true };
  for await (const [index, { change, policy }] of yieldBetween(changes.entries())) {
    // It sorts after all existing ones.
    const id = `~${String(index).padStart(6, '0')}`;
    if (change === 'create') all.push(planned(policy, id, { ...side, isNew: true }));
    if (change === 'activate') all.push(planned(policy, policy.id, { ...side, isNew: false }));
  }
  return all;
}

type Sides = Pick<PlannedPolicy, 'isBefore' | 'isAfter' | 'isNew'>;

/** Only the members that a comparison needs: they are handed over to another process. One literal: spreading takes ten times as long. */
function planned(policy: Omit<PolicyRules, 'id'>, id: string, { isBefore, isAfter, isNew }: Sides): PlannedPolicy {
  return {
    id,
    name: policy.name,
    version: policy.version,
    effect: policy.effect,
    subjects: policy.subjects,
    actions: policy.actions,
    resources: policy.resources,
    resourceTypes: policy.resourceTypes,
    priority: policy.priority,
    conditions: policy.conditions,
    limits: policy.limits,
    onBehalfOf: policy.onBehalfOf,
    approval: policy.approval,
    isBefore,
    isAfter,
    isNew,
  };
}

/** Also reads in the transaction what it will change. */
async function changesFor(
  transaction: LedgerTransaction,
  wanted: WantedPolicies,
  inForce: readonly Policy[],
): Promise<readonly PolicyChange[]> {
  const { changes, faults } = await policyChanges(wanted, inForce, (versions) =>
    transaction.findAmong(POLICY, ['name', 'version'], versions),
  );
  if (faults.length > 0) throw invalid(faults);
  const going = goingOutOfForce(changes).map(({ id }) => [id]);
  await transaction.findAmong(POLICY, ['id'], going);
  return changes;
}
