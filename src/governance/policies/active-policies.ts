import { setImmediate } from 'node:timers/promises';
import { type CompiledPolicy, compilePolicy } from './evaluation/compiled-policy';
import { type OnModuleInit, Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { yieldBetween } from '../../core/concurrency/time-slice';
import type { Caller } from '../../ledger/kinds/caller';
import { conflict } from '../../core/errors/domain-error';
import { SecretDigests } from '../../core/values/seals';
import { sha256 } from '../../ledger/chain/hash-chain';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { type FollowingRows, RowProjection } from '../../ledger/head/projections';
import { type PolicySet, PolicyEvaluator, policySetOf } from './evaluation/policy-evaluator';
import { type Policy, POLICY, POLICY_ACTIONS, noteOn } from './policy.entity';
import {
  capacityFault,
  policyExtent,
  type ExtentTotals,
  type PolicyExtent,
  teamFault,
  totalsWith,
} from './policy-capacity';
import { type PolicyChange, goingOutOfForce } from './policy-changes';
import { type PolicyContent, hashedContent, rulesHash } from './policy-content';
import { isBelowTeamPriority } from './team-policies';
import { unreportedWarnings } from './unreported-warnings';

/**
 * Most bytes of patterns that one request removes or replaces: their rows are written anew, with an entry each, while
 * others wait.
 */
const MAX_GOING_BYTES = 8 * 1024 * 1024;

const AFTER = {
  activate: { status: 'active', action: 'policy.activated' },
  deactivate: { status: 'inactive', action: 'policy.deactivated' },
} as const;

/** Result of carrying out changes. */
interface CarriedOut {
  /** The written policies, in order. */
  readonly changed: readonly Policy[];
  /** Id of the policy that each change puts in force, keeps or removes. */
  readonly ids: readonly string[];
  readonly policySet: string;
}

/**
 * The policies in force, in memory. The set changes only after the commit of the change and before any later command
 * runs, so a command always decides by what is on disk.
 */
@Injectable()
export class ActivePolicies implements OnModuleInit {
  private readonly logger = new Logger('Policies');
  /** Digests that name requests in sums, which others may read. */
  private readonly requestKeys: SecretDigests;
  private readonly evaluator = new PolicyEvaluator((actionHash) => this.requestKeys.digest(actionHash));
  private readonly policiesById = new Map<string, StoredPolicy>();
  private totals: ExtentTotals = new Map();
  private knownRules: string | null = null;
  private readonly rows = new RowProjection<Policy>({
    kind: POLICY,
    status: 'active',
    actions: POLICY_ACTIONS,
    keep: (policies) => this.apply(policies),
  });

  constructor(
    private readonly ledger: LedgerService,
    private readonly configuration: Configuration,
  ) {
    this.requestKeys = new SecretDigests('equal requests', configuration.apiKey);
  }

  async onModuleInit(): Promise<void> {
    await this.ledger.follow(this.rows);
    const excess = capacityFault(new Map(), this.totals, this.configuration);
    const { teamPriority } = this.configuration;
    const strong = this.stored.filter((policy) => !isBelowTeamPriority(policy, teamPriority)).length;
    if (strong > 0)
      this.logger.warn(
        `Policies of teams in force that are not below TEAM_PRIORITY (${teamPriority}), and can override those of no team: ${strong}.`,
      );
    if (excess !== undefined)
      this.logger.warn(`${excess} They remain in force, and no further policy can come into force.`);
  }

  /** The set that decides. Read it inside a command, so that no policy changes between the decision and its commit. */
  get inForce(): PolicySet {
    return this.evaluator;
  }

  /** The policies in force as stored records. */
  get stored(): readonly Policy[] {
    return Array.from(this.policiesById.values(), ({ policy }) => policy);
  }

  /**
   * The `rules` of decisions: a hash of the contents of the policies in force, and of the default effect. Read it
   * inside a command as well.
   */
  get rules(): string {
    this.knownRules ??= rulesHash(this.policiesById, this.configuration.policyDefaultEffect);
    return this.knownRules;
  }

  /**
   * Resolves when every change on disk before the call has taken effect, whichever process made it.
   * @param others other projections, which catch up by the same read
   */
  catchUp(...others: readonly FollowingRows[]): Promise<void> {
    return this.ledger.catchUp(this.rows, ...others);
  }

  /**
   * Returns the set that a caller plans: the policies in force of a team or, if it is null, of none.
   * @param changes changes that are not in force yet
   */
  setOf(team: string | null, { added = [], removed = [] }: SetChanges = {}): string {
    const own = this.stored.flatMap((policy) => (policy.team === team ? policy.id : []));
    const ids = new Set([...own, ...added]);
    for (const id of removed) ids.delete(id);
    return policySetOf(ids);
  }

  /**
   * Requires room for changes. A team may use a tenth of each limit, and all teams together nine tenths.
   * @throws CONFLICT if the changes would exceed a limit of the policies in force, or take more out of force than one
   * request may
   */
  async requireRoom({ team }: Pick<Caller, 'team'>, changes: readonly PolicyChange[]): Promise<void> {
    const coming: PolicyExtent[] = [];
    for await (const { change, policy } of yieldBetween(changes))
      if (change === 'create' || change === 'activate') coming.push(policyExtent(policy));
    const going = this.extentsOf(goingOutOfForce(changes));
    const goingBytes = going.reduce((sum, { bytes }) => sum + bytes, 0);
    if (goingBytes > MAX_GOING_BYTES && going.length > 1) throw conflict(goingFault(goingBytes));
    const after = totalsWith(this.totals, going, coming);
    const fault =
      capacityFault(this.totals, after, this.configuration, team !== undefined) ??
      teamFault(this.totals, after, this.configuration);
    if (fault !== undefined) throw conflict(`${fault} ${REMEDY}`);
  }

  /** Returns the extents of those of the policies that are in force, each once. */
  private extentsOf(policies: readonly Pick<Policy, 'id'>[]): PolicyExtent[] {
    const ids = new Set(policies.map(({ id }) => id));
    return [...ids].flatMap((id) => this.policiesById.get(id) ?? []);
  }

  /**
   * Carries out changes inside a command. Writes superseded policies before their successors.
   * @param warnings warnings for created policies
   * @throws CONFLICT at a limit of the policies in force
   */
  async carryOut(
    transaction: LedgerTransaction,
    changes: readonly PolicyChange[],
    warnings: ReadonlyMap<PolicyContent, readonly string[]>,
  ): Promise<CarriedOut> {
    await this.requireRoom(transaction.caller, changes);
    const identified = changes.map((change) => ({
      change,
      id: change.change === 'create' ? transaction.newId(POLICY) : change.policy.id,
    }));
    const staying = identified.flatMap(({ change: { change }, id }) => (change === 'deactivate' ? [] : id));
    const going = goingOutOfForce(changes).map(({ id }) => id);
    const policySet = this.evaluator.policySetWith(staying, going);
    const changed: Policy[] = [];
    for await (const { change, id } of yieldBetween(identified)) {
      const { replaced } = change;
      if (replaced !== null) {
        const note = noteOn(replaced, 'policy.superseded', { supersededBy: id, policySet });
        changed.push(transaction.update(POLICY, { ...replaced, status: 'superseded' }, note));
      }
      if (change.change === 'create') {
        const made = { warnings: warnings.get(change.policy) ?? [], createdAt: transaction.now };
        const created = { ...change.policy, id, status: 'active', ...made } as const;
        changed.push(transaction.insert(POLICY, created, noteOn(created, 'policy.created', { policySet })));
      } else if (change.change !== 'keep') {
        const { status, action } = AFTER[change.change];
        const note = noteOn(change.policy, action, { policySet });
        changed.push(transaction.update(POLICY, { ...change.policy, status }, note));
      }
    }
    return { changed, ids: identified.map(({ id }) => id), policySet };
  }

  /**
   * Puts policies in force, or removes them, by their status: all that a command has changed at once. Between two
   * calls, evaluations would see a set that was never in force.
   */
  private async apply(policies: readonly Policy[]): Promise<void> {
    const added = policies.filter(({ status }) => status === 'active');
    const removed = policies.flatMap(({ id, status }) => (status === 'active' ? [] : [id]));
    const entries: StoredPolicy[] = [];
    const compiled: CompiledPolicy[] = [];
    for await (const policy of yieldBetween(added)) {
      entries.push({ ...policyExtent(policy), policy, hash: sha256(hashedContent(policy)) });
      compiled.push(compilePolicy(policy));
    }
    if (added.some(({ limits }) => limits.some(({ by }) => by === 'request'))) await this.requestKeys.prepare();
    // Putting thousands in force is one step, which gets its own turn.
    await setImmediate();
    this.evaluator.put(compiled, removed);
    this.totals = totalsWith(this.totals, this.extentsOf(policies), entries);
    for (const id of removed) this.policiesById.delete(id);
    for (const entry of entries) this.policiesById.set(entry.policy.id, entry);
    this.knownRules = null;
    for (const line of await unreportedWarnings(added)) this.logger.warn(line);
  }
}

const REMEDY = 'Take a policy out of force first, or use fewer or shorter patterns, limits or conditions.';

function goingFault(bytes: number): string {
  return `${bytes} bytes of patterns would go out of force, more than the ${MAX_GOING_BYTES} of one request. Remove or replace some of the policies first.`;
}

/** A policy in force, in memory. */
interface StoredPolicy extends PolicyExtent {
  readonly policy: Policy;
  /** Hash of its content, as in the `rules` of decisions. */
  readonly hash: string;
}

/** Ids of policies that a set gains and loses. */
interface SetChanges {
  readonly added?: readonly string[];
  readonly removed?: readonly string[];
}
