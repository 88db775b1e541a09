import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { conflict, invalidField, requireFound, requirePresent } from '../../core/errors/domain-error';
import type { Caller } from '../../ledger/kinds/caller';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { type Moment, RecordHistory } from '../../ledger/record-history';
import type { PageQuery } from '../../http/lists/list.query';
import type { CreatePolicyRequest } from './dto/policy.dto';
import { ActivePolicies } from './active-policies';
import { Database } from '../../ledger/database/database';
import { type UsageResponse, usageOf } from './limit-usage';
import { requireOwnTeam, writtenTeam } from '../agents/team';
import { CreationWarnings } from './creation-warnings';
import type { PolicyChange } from './policy-changes';
import { type PolicyContent, contentOf, firstDifference } from './policy-content';
import { isBelowTeamPriority, nameTaken, teamPriorityFault } from './team-policies';
import { POLICY, type Policy } from './policy.entity';

type CreatedPolicy = Policy & {
  /** True if it was already in force, and nothing was written. */
  readonly wasInForce?: true;
};

/** Policies are never edited: one version of a name is in force, and only the choice of that version can change. */
@Injectable()
export class PoliciesService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly history: RecordHistory,
    private readonly activePolicies: ActivePolicies,
    private readonly warnings: CreationWarnings,
    private readonly configuration: Configuration,
    private readonly database: Database,
  ) {}

  /** @throws NOT_FOUND; VALIDATION_ERROR for a moment in the future */
  async get(caller: Caller, id: string, asOf?: Moment): Promise<Policy> {
    return requireFound(await this.history.find(POLICY, id, asOf, caller), 'policy');
  }

  /** @throws NOT_FOUND */
  async usage(caller: Caller, id: string, query: PageQuery): Promise<UsageResponse> {
    const policy = await this.get(caller, id);
    return usageOf(this.database.lists, policy, { now: this.ledger.now, team: caller.team ?? null }, query);
  }

  /**
   * Puts the new version in force in place of the previous one; an identical version in force stays as it is.
   * @throws CONFLICT when the name already has this version, or the limit of policies in force is
   * reached.
   */
  async create(caller: Caller, request: CreatePolicyRequest): Promise<CreatedPolicy> {
    const { requiredApprovals, teamPriority } = this.configuration;
    const content = contentOf(request, requiredApprovals, writtenTeam(caller, request.team));
    if (!isBelowTeamPriority(content, teamPriority)) throw invalidField('priority', teamPriorityFault(teamPriority));
    const { name, version, team } = content;
    const nameWarnings = await this.warnings.nameWarnings(content, this.activePolicies.stored);
    const all = await this.warnings.warningsFor([content], team);
    const warnings = new Map([[content, [...(all.get(content) ?? []), ...nameWarnings]]]);
    return this.ledger.write(caller, async (transaction): Promise<CreatedPolicy> => {
      await requireOwnName(transaction, name, team);
      const same = await transaction.findBy(POLICY, { name, version });
      if (same !== undefined) return inForceAlready(same, content);
      const replaced = await inForce(transaction, name);
      return this.changed(transaction, { change: 'create', policy: content, replaced }, warnings);
    });
  }

  /**
   * Puts a version back in force in place of the current one. Idempotent.
   * @throws NOT_FOUND; CONFLICT at the limit of policies in force
   */
  activate(caller: Caller, id: string): Promise<Policy> {
    return this.ledger.write(caller, async (transaction) => {
      const policy = requireFound(await transaction.findVisible(POLICY, id), 'policy');
      requireOwnTeam(caller, policy);
      if (policy.status === 'active') return policy;
      const { teamPriority } = this.configuration;
      if (!isBelowTeamPriority(policy, teamPriority))
        throw conflict(`The priority of this version ${teamPriorityFault(teamPriority)}.`);
      const replaced = await inForce(transaction, policy.name);
      return this.changed(transaction, { change: 'activate', policy, replaced });
    });
  }

  /** Takes a version out of force. Idempotent. @throws NOT_FOUND; CONFLICT when another version is in force. */
  deactivate(caller: Caller, id: string): Promise<Policy> {
    return this.ledger.write(caller, async (transaction) => {
      const policy = requireFound(await transaction.findVisible(POLICY, id), 'policy');
      requireOwnTeam(caller, policy);
      if (policy.status === 'superseded')
        throw conflict(
          `Version ${policy.version} of the policy "${policy.name}" is superseded, so there is nothing to take out of force.`,
        );
      if (policy.status === 'inactive') return policy;
      return this.changed(transaction, { change: 'deactivate', policy, replaced: null });
    });
  }

  /** Returns the policy after a change. */
  private async changed(
    transaction: LedgerTransaction,
    change: PolicyChange,
    warnings: ReadonlyMap<PolicyContent, readonly string[]> = new Map(),
  ): Promise<Policy> {
    const { changed } = await this.activePolicies.carryOut(transaction, [change], warnings);
    return requirePresent(changed.at(-1), 'policy that was changed');
  }
}

/** Requires that all versions of a name have the team of the first. @throws CONFLICT */
async function requireOwnName(transaction: LedgerTransaction, name: string, team: string | null): Promise<void> {
  const [version] = await transaction.findNewest(POLICY, ['team'], { name }, 1);
  if (version !== undefined && version.team !== team) throw nameTaken([name]);
}

async function inForce(transaction: LedgerTransaction, name: string): Promise<Policy | null> {
  const [policy = null] = await transaction.findAll(POLICY, { name, status: 'active' });
  return policy;
}

/** @throws CONFLICT if the version has other content, or is not in force */
function inForceAlready(policy: Policy, content: PolicyContent): CreatedPolicy {
  const { id, name, version, status } = policy;
  const difference = firstDifference(policy, content);
  if (difference !== undefined)
    throw conflict(
      `The policy "${name}" has a version ${version} already, which differs in: ${difference}. Give the new one another version.`,
    );
  if (status !== 'active')
    throw conflict(
      `The policy "${name}" has exactly this version ${version} already, but it is not in force: ` +
        `POST /api/v1/policies/${id}/activate puts it back.`,
    );
  return { ...policy, wasInForce: true };
}
