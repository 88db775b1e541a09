import { Injectable } from '@nestjs/common';
import { yieldBetween } from '../../core/concurrency/time-slice';
import { Configuration } from '../../core/config/configuration';
import { type FieldFault, invalid, preconditionFailed } from '../../core/errors/domain-error';
import { Gates, callerKey } from '../../http/gates';
import type { Caller } from '../../ledger/kinds/caller';
import type { ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import { Database } from '../../ledger/database/database';
import type { Dialect } from '../../ledger/database/dialect';
import { LedgerService } from '../../ledger/ledger.service';
import { RecordReader } from '../../ledger/reading/record-reader';
import { runRowQueries } from '../../ledger/records/row-query';
import { ActivePolicies } from '../policies/active-policies';
import { CreationWarnings } from '../policies/creation-warnings';
import type { CreatePolicyRequest } from '../policies/dto/policy.dto';
import {
  type FoundChanges,
  type PolicyChange,
  type PolicyVersions,
  type WantedPolicies,
  goingOutOfForce,
  policyChanges,
} from '../policies/policy-changes';
import { type PolicyContent, contentOf } from '../policies/policy-content';
import { isBelowTeamPriority, nameTaken, teamPriorityFault } from '../policies/team-policies';
import { writtenTeam } from '../agents/team';
import { isNameWarning } from '../policies/unknown-names';
import { type Policy, POLICY } from '../policies/policy.entity';
import { type ApplyPoliciesRequest, type PlanPoliciesRequest, replayPeriod } from './dto/policy-plan.requests';
import { declareAgents } from '../agents/declared-agents';
import type { CreateAgentRequest } from '../agents/dto/agent.dto';
import { findAgents } from '../agents/find-agent';
import type { PolicyAgent } from '../policies/patterns/subjects';
import {
  AppliedAgentResponse,
  type AppliedPoliciesResponse,
  PolicyChangeResponse,
  type PolicyPlanResponse,
  type PolicyReplayResponse,
} from './dto/policy-plan.response';
import { type PlannedPolicy, plannedPolicy } from './effects/planned-match';
import { PolicyComparisons } from './policy-comparisons';
import { PolicyTests } from './policy-tests';
import { Replays } from './replays';

/**
 * Most warnings in a response. Each pattern can have a warning, which is many times longer, and all of them could fill
 * the memory.
 */
const MAX_WARNINGS = 1_000;
const MORE_WARNINGS = `These are the first ${MAX_WARNINGS} warnings. Plan fewer policies at once to see the others.`;

type PolicyWarnings = ReadonlyMap<PolicyContent, readonly string[]>;

/** Plans the effects of whole sets of policies, and brings sets into force in one commit. */
@Injectable()
export class PolicySetsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly records: RecordReader,
    private readonly database: Database,
    private readonly activePolicies: ActivePolicies,
    private readonly comparisons: PolicyComparisons,
    private readonly tests: PolicyTests,
    private readonly replays: Replays,
    private readonly warnings: CreationWarnings,
    private readonly configuration: Configuration,
    private readonly gates: Gates,
  ) {}

  /**
   * Computes the changes by a set, and writes nothing.
   * @throws VALIDATION_ERROR if a version exists with other content, or a test names an agent that does not exist;
   * PERMISSION_DENIED if the caller may only test its own agent; CONFLICT if the set exceeds the limits; UNAVAILABLE if
   * another plan, or replay, of the caller already waits; the reason of `signal`
   * @param signal aborted when nobody waits for the plan any more
   */
  async plan(caller: Caller, request: PlanPoliciesRequest, signal: AbortSignal): Promise<PolicyPlanResponse> {
    // The gate is entered before any read, because many large plans would read and hold a lot.
    const compared = (): ReturnType<typeof this.compared> => this.compared(caller, request, signal);
    const { planned, answer } = await this.gates.get('plans').run(callerKey(caller), compared, { signal });
    const { replay } = request;
    if (replay === undefined) return answer;
    // Plans without a replay do not wait for others' replays.
    const replayed = (): Promise<PolicyReplayResponse> =>
      this.replays.run(caller, replayPeriod(replay), planned, signal);
    return { ...answer, replay: await this.gates.get('replays').run(callerKey(caller), replayed, { signal }) };
  }

  /**
   * @throws PRECONDITION_FAILED if other policies are in force than those planned for; VALIDATION_ERROR if a version
   * exists with other content; CONFLICT if the set exceeds the limits; UNAVAILABLE if too many others are being applied
   */
  async apply(caller: Caller, request: ApplyPoliciesRequest, signal: AbortSignal): Promise<AppliedPoliciesResponse> {
    const { base, prune = false, agents } = request;
    const team = writtenTeam(caller, request.team);
    await caller.idempotency?.prepare();
    const policies = await this.contentsOf(caller, request.policies, team);
    const desiredSet = { policies, prune, team };
    const applied = (warnings: PolicyWarnings | null): Promise<AppliedPoliciesResponse> =>
      this.ledger.write(caller, async (transaction) => {
        if (warnings === null || !this.isInForce(team, base))
          throw preconditionFailed(
            'The policies in force are not those that the base names. Plan the set again, and apply it with the base of that plan.',
          );
        const changes = await changesFor(transaction, desiredSet, this.activePolicies.stored, this.database.dialect);
        const { directoryRoles } = this.configuration;
        const declared = await declareAgents(transaction, agents ?? [], { directoryRoles, team });
        const removed = goingOutOfForce(changes).map(({ id }) => id);
        const { ids } = await this.activePolicies.carryOut(transaction, changes, warnings);
        return {
          changes: await changeResponses(changes, ids),
          policySet: this.activePolicies.setOf(team, { added: stayingIn(changes, ids), removed }),
          warnings: firstOf(warningsOn(changes, warnings)),
          ...(agents !== undefined && { agents: declared.map(AppliedAgentResponse.from) }),
        };
      });
    await this.activePolicies.catchUp();
    // The command refuses another base, or repeats its response to the same Idempotency-Key; neither takes long.
    if (!this.isInForce(team, base)) return applied(null);
    // Checks that take many reads run outside the ledger's commands. The command then reads only equal contents.
    const checkAndApply = async (): Promise<AppliedPoliciesResponse> => {
      refuseFaults(await policyChanges(desiredSet, this.activePolicies.stored, this.versions));
      return applied(await this.warnings.warningsFor(policies, team, await this.declaredAgents(agents ?? [], team)));
    };
    return this.gates.get('applications').run(callerKey(caller), checkAndApply, { signal });
  }

  private get versions(): PolicyVersions {
    return {
      find: (versions) => this.records.allAmong(POLICY, ['name', 'version'], versions),
      atOnce: 10,
      run: (queries) => runRowQueries(this.database.points, queries),
      dialect: this.database.dialect,
    };
  }

  /** Returns the agents of a request that will be active, with their future members. */
  private async declaredAgents(agents: readonly CreateAgentRequest[], team: string | null): Promise<PolicyAgent[]> {
    const registered = await findAgents(this.records, new Set(agents.map(({ name }) => name)));
    return agents.flatMap((agent) => {
      const { name, kind = 'machine', roles = [] } = agent;
      const current = registered.get(name);
      if (current !== undefined && current.status !== 'active') return [];
      return { id: current?.id ?? '', name, kind, roles, team: agent.team ?? current?.team ?? team };
    });
  }

  /**
   * @throws PERMISSION_DENIED for a policy of a team other than the caller's; VALIDATION_ERROR for a policy of a team
   * other than the set's
   */
  private async contentsOf(
    caller: Caller,
    policies: readonly CreatePolicyRequest[],
    team: string | null,
  ): Promise<PolicyContent[]> {
    const { requiredApprovals, teamPriority } = this.configuration;
    const contents: PolicyContent[] = [];
    const faults: FieldFault[] = [];
    for await (const [index, policy] of yieldBetween(policies.entries())) {
      if (writtenTeam(caller, policy.team ?? team) !== team)
        faults.push({
          field: `policies[${index}].team`,
          message: 'must be that of the set, the member team of the request',
        });
      const content = contentOf(policy, requiredApprovals, team);
      if (!isBelowTeamPriority(content, teamPriority))
        faults.push({ field: `policies[${index}].priority`, message: teamPriorityFault(teamPriority) });
      contents.push(content);
    }
    if (faults.length > 0) throw invalid(faults);
    return contents;
  }

  private isInForce(team: string | null, base: string): boolean {
    return this.activePolicies.setOf(team) === base;
  }

  private async compared(
    caller: Caller,
    { policies, prune = false, tests, team: requestedTeam }: PlanPoliciesRequest,
    signal: AbortSignal,
  ): Promise<{ readonly planned: readonly PlannedPolicy[]; readonly answer: PolicyPlanResponse }> {
    const team = writtenTeam(caller, requestedTeam);
    const contents = await this.contentsOf(caller, policies, team);
    const preparedTests = tests === undefined ? null : await this.tests.prepare(caller, tests, team);
    await this.activePolicies.catchUp();
    const { stored } = this.activePolicies;
    const base = this.activePolicies.setOf(team);
    const comparison = await policyChanges({ policies: contents, prune, team }, stored, this.versions);
    signal.throwIfAborted();
    const { changes } = comparison;
    refuseFaults({ ...comparison, faults: [...comparison.faults, ...(preparedTests?.faults ?? [])] });
    await this.activePolicies.requireRoom(caller, changes);
    // Policies of other teams decide nothing for the agents of a team.
    const applicable = stored.filter((policy) => team === null || policy.team === null || policy.team === team);
    const planned = await plannedPolicies(applicable, changes);
    const target = planned.filter(({ isAfter }) => isAfter);
    const results = preparedTests === null ? null : await this.tests.results(tests ?? [], preparedTests, target);
    const compared = await this.comparisons.compare(planned, team, signal);
    const created = changes.flatMap(({ change, policy }) => (change === 'create' ? [policy] : []));
    const warnings = warningsOn(changes, await this.warnings.warningsFor(created, team));
    const answer = {
      base,
      changes: await changeResponses(changes),
      effects: compared.effects,
      complete: compared.reason === null,
      reason: compared.reason,
      shadowed: compared.shadowed,
      warnings: firstOf([...warnings, ...compared.warnings]),
      ...(results !== null && { tests: results }),
    };
    return { planned, answer };
  }
}

/**
 * Returns warnings about policies that come into force: those of new versions, and the stored ones of old versions.
 * @param created warnings for each policy that is created
 */
function warningsOn(changes: readonly PolicyChange[], created: PolicyWarnings): string[] {
  return changes.flatMap(({ change, policy }) => {
    // Stored warnings about names may be outdated; the comparison of a plan finds those that still hold.
    const stored = change === 'activate' ? policy.warnings.filter((warning) => !isNameWarning(warning)) : [];
    const warnings = change === 'create' ? created.get(policy) : undefined;
    return (warnings ?? stored).map((warning) => `${policy.name} (version ${policy.version}): ${warning}`);
  });
}

function firstOf(warnings: readonly string[]): readonly string[] {
  return warnings.length > MAX_WARNINGS ? [...warnings.slice(0, MAX_WARNINGS), MORE_WARNINGS] : warnings;
}

/** @param ids ids of the policies of the changes, after they were carried out */
async function changeResponses(
  changes: readonly PolicyChange[],
  ids: readonly string[] = [],
): Promise<PolicyChangeResponse[]> {
  const responses: PolicyChangeResponse[] = [];
  for await (const [index, change] of yieldBetween(changes.entries()))
    responses.push(PolicyChangeResponse.from(change, ids[index]));
  return responses;
}

/**
 * Returns all policies in force before or after. Policies to be created come last, ordered by their provisional ids.
 */
async function plannedPolicies(
  inForce: readonly Policy[],
  changes: readonly PolicyChange[],
): Promise<readonly PlannedPolicy[]> {
  const removedIds = new Set(goingOutOfForce(changes).map(({ id }) => id));
  const all: PlannedPolicy[] = [];
  for await (const policy of yieldBetween(inForce))
    all.push(plannedPolicy(policy, policy.id, { isBefore: true, isAfter: !removedIds.has(policy.id), isNew: false }));
  const side = { isBefore: false, isAfter: true };
  for await (const [index, { change, policy }] of yieldBetween(changes.entries())) {
    // This id sorts after all existing ones.
    const id = `~${String(index).padStart(6, '0')}`;
    if (change === 'create') all.push(plannedPolicy(policy, id, { ...side, isNew: true }));
    if (change === 'activate') all.push(plannedPolicy(policy, policy.id, { ...side, isNew: false }));
  }
  return all;
}

/** Returns the ids of the policies that remain in force after the changes. */
function stayingIn(changes: readonly PolicyChange[], ids: readonly string[]): string[] {
  return ids.filter((_, index) => changes[index]?.change !== 'deactivate');
}

/** Finds the changes, and reads in the transaction the records that they will change. */
async function changesFor(
  transaction: ServiceTransaction,
  target: WantedPolicies,
  inForce: readonly Policy[],
  dialect: Dialect,
): Promise<readonly PolicyChange[]> {
  const comparison = await policyChanges(target, inForce, {
    find: (versions) => transaction.findAmong(POLICY, ['name', 'version'], versions),
    atOnce: 250,
    run: (queries) => transaction.runQueries(queries),
    dialect,
  });
  refuseFaults(comparison);
  const going = goingOutOfForce(comparison.changes).map(({ id }) => [id]);
  await transaction.findAmong(POLICY, ['id'], going);
  return comparison.changes;
}

/** @throws CONFLICT for names of others; VALIDATION_ERROR for versions that exist with other content */
function refuseFaults({ faults, taken }: Pick<FoundChanges, 'faults' | 'taken'>): void {
  if (taken.length > 0) throw nameTaken(taken);
  if (faults.length > 0) throw invalid(faults);
}
