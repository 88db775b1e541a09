import { type CompiledPolicy, compilePolicy, type PolicyRules } from './evaluation/compiled-policy';
import { type OnModuleInit, Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { yieldBetween } from '../../core/concurrency/time-slice';
import { conflict } from '../../core/errors/domain-error';
import { sha256 } from '../../ledger/chain/hash-chain';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { type FollowingRows, RowProjection } from '../../ledger/projections';
import { factsOfPolicy, MAX_FACTS_IN_FORCE } from './evaluation/fact-bounds';
import { type PolicySet, PolicyEvaluator } from './evaluation/policy-evaluator';
import { type Policy, POLICY, POLICY_ACTIONS, noteOn } from './policy.entity';
import { type PolicyChange, type PolicyContent, goingOutOfForce, hashedContent, rulesHash } from './policy-content';
import { unreportedWarnings } from './creation-warnings';

const AFTER = {
  activate: { status: 'active', action: 'policy.activated' },
  deactivate: { status: 'inactive', action: 'policy.deactivated' },
} as const;

/** What changes have led to. */
interface CarriedOut {
  /** The policies that were written, in this order. */
  readonly changed: readonly Policy[];
  /** For each change, the id of the policy that it puts in force, keeps or removes. */
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
  private readonly evaluator = new PolicyEvaluator();
  private readonly kept = new Map<string, KeptPolicy>();
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
  ) {}

  async onModuleInit(): Promise<void> {
    await this.ledger.follow(this.rows);
    const excess = capacityFault(totalOf([]), totalOf(this.kept.values()), this.configuration);
    if (excess !== undefined)
      this.logger.warn(`${excess} They remain in force, and no further policy can come into force.`);
  }

  /** To be asked inside a command, so that no policy changes between the decision and its commit. */
  get inForce(): PolicySet {
    return this.evaluator;
  }

  /** The same policies as they are stored. */
  get stored(): readonly Policy[] {
    return Array.from(this.kept.values(), ({ policy }) => policy);
  }

  /** The `rules` of decisions: what the policies in force say, and the default effect. Asked inside a command as well. */
  get rules(): string {
    this.knownRules ??= rulesHash(this.kept, this.configuration.policyDefaultEffect);
    return this.knownRules;
  }

  /**
   * Resolves when every change that was on disk before the call has taken effect, whichever process made it.
   * @param others what else is kept in memory, caught up with by the same read.
   */
  catchUp(...others: readonly FollowingRows[]): Promise<void> {
    return this.ledger.catchUp(this.rows, ...others);
  }

  /** @throws CONFLICT when the changes would exceed a limit of the policies in force. */
  async requireRoom(changes: readonly PolicyChange[]): Promise<void> {
    const left = new Map<string, Extent>(this.kept);
    for (const { id } of goingOutOfForce(changes)) left.delete(id);
    const coming: Extent[] = [];
    for await (const { change, policy } of yieldBetween(changes))
      if (change === 'create' || change === 'activate') coming.push(extentOf(policy));
    const after = totalOf([...left.values(), ...coming]);
    const fault = capacityFault(totalOf(this.kept.values()), after, this.configuration);
    if (fault !== undefined) throw conflict(`${fault} ${REMEDY}`);
  }

  /**
   * Carries out changes inside a command. What is superseded is written before what takes its place.
   * @param warnings for those that are created.
   * @throws CONFLICT when a limit of the policies in force is reached.
   */
  async carryOut(
    transaction: LedgerTransaction,
    changes: readonly PolicyChange[],
    warnings: ReadonlyMap<PolicyContent, readonly string[]>,
  ): Promise<CarriedOut> {
    await this.requireRoom(changes);
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
   * Puts policies in force, or removes them, according to their status: all that a command has changed at once. Between
   * two calls, evaluations would see a set that was never in force.
   */
  private async apply(policies: readonly Policy[]): Promise<void> {
    const added = policies.filter(({ status }) => status === 'active');
    const removed = policies.flatMap(({ id, status }) => (status === 'active' ? [] : [id]));
    const kept: KeptPolicy[] = [];
    const compiled: CompiledPolicy[] = [];
    for await (const policy of yieldBetween(added)) {
      kept.push({ ...extentOf(policy), policy, hash: sha256(hashedContent(policy)) });
      compiled.push(compilePolicy(policy));
    }
    this.evaluator.put(compiled, removed);
    for (const id of removed) this.kept.delete(id);
    for (const one of kept) this.kept.set(one.policy.id, one);
    this.knownRules = null;
    for (const line of await unreportedWarnings(added)) this.logger.warn(line);
  }
}

/** The most patterns that all policies in force may have. */
const MOST_PATTERNS = 100_000;
/** The most policies in force with limits: what they ask is read for each request. */
const MOST_LIMITED = 100;
const REMEDY = 'Take a policy out of force first, or use fewer or shorter patterns, limits or conditions.';

/** What is kept of a policy in force. */
interface KeptPolicy extends Extent {
  readonly policy: Policy;
  /** Of its content, as the `rules` of decisions name it. */
  readonly hash: string;
}

const EXTENTS = ['policies', 'limited', 'bytes', 'patterns', 'facts'] as const;

/** What policies take up: their number, how many have limits, their patterns, the bytes of what is held as text, their facts. */
type Extent = Readonly<Record<(typeof EXTENTS)[number], number>>;

function extentOf(policy: Omit<PolicyRules, 'id'>): Extent {
  const { subjects, actions, resources, resourceTypes, conditions, limits, onBehalfOf, approval } = policy;
  const approvers = (approval?.approvers ?? []).map((group) => group.subjects);
  let bytes = conditions.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(conditions));
  let patterns = 0;
  for (const texts of [subjects, actions, resources, resourceTypes, onBehalfOf, ...approvers]) {
    patterns += texts.length;
    for (const text of texts) bytes += Buffer.byteLength(text);
  }
  return { policies: 1, bytes, patterns, limited: limits.length > 0 ? 1 : 0, facts: factsOfPolicy(policy) };
}

function totalOf(extents: Iterable<Extent>): Extent {
  const total = { policies: 0, limited: 0, bytes: 0, patterns: 0, facts: 0 };
  for (const extent of extents) for (const member of EXTENTS) total[member] += extent[member];
  return total;
}

/** The first limit that the policies in force exceed; undefined if there is none. A total that has not grown is never a fault. */
function capacityFault(before: Extent, after: Extent, limits: Configuration): string | undefined {
  const bounds = [
    ['policies', 'policies', limits.maxPolicies, 'MAX_POLICIES allows'],
    ['limited', 'policies with limits', MOST_LIMITED, 'may be'],
    ['bytes', 'bytes of patterns', limits.maxPolicyText, 'MAX_POLICY_TEXT allows'],
    ['patterns', 'patterns', MOST_PATTERNS, 'may be'],
    ['facts', 'limits and conditions on earlier actions or claims', MAX_FACTS_IN_FORCE, 'may be'],
  ] as const;
  const exceeded = bounds.find(([member, , most]) => after[member] > before[member] && after[member] > most);
  if (exceeded === undefined) return undefined;
  const [member, what, most, allows] = exceeded;
  return `${after[member]} ${what} in force are more than the ${most} that ${allows}.`;
}
