import type { PolicyRules } from './evaluation/compiled-policy';
import { type OnModuleInit, Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { Turn } from '../../core/concurrency/turn';
import { conflict } from '../../core/errors/domain-error';
import { sha256 } from '../../ledger/chain/hash-chain';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import type { Condition } from '../../ledger/record-page';
import { LedgerService } from '../../ledger/ledger.service';
import { type FollowingRows, LiveRows } from '../../ledger/live-rows';
import { RecordReader } from '../../ledger/reading/record-reader';
import { type PolicySet, PolicyEvaluator, policySetOf } from './evaluation/policy-evaluator';
import { type Policy, POLICY, POLICY_ACTIONS, noteOn } from './policy.entity';
import {
  type PolicyChange,
  type PolicyContent,
  comingIntoForce,
  goingOutOfForce,
  hashedContent,
  rulesHash,
} from './policy-content';
import { unreportedWarnings } from './creation-warnings';

/** Most policies read at once; fewer if they are large. */
const CHUNK = 1_000;
const IN_FORCE: readonly Condition[] = [{ column: 'status', comparison: 'equals', value: 'active' }];

const AFTER = {
  activate: { status: 'active', action: 'policy.activated' },
  deactivate: { status: 'inactive', action: 'policy.deactivated' },
} as const;

/** Policies in force, and the hash of their set. */
export interface StoredPolicies {
  readonly policies: readonly Policy[];
  readonly policySet: string;
}

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
  private readonly extents = new Map<string, Extent>();
  /** Of the content of each, as the `rules` of decisions name it. */
  private readonly hashes = new Map<string, string>();
  private knownRules: string | null = null;
  private readonly rows = new LiveRows<Policy>({
    kind: POLICY,
    status: 'active',
    actions: POLICY_ACTIONS,
    keep: (policies) => this.apply(policies),
  });

  constructor(
    private readonly ledger: LedgerService,
    private readonly records: RecordReader,
    private readonly configuration: Configuration,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.ledger.follow(this.rows);
    const excess = excessOver(totalOf(this.extents.values()), this.configuration);
    if (excess !== undefined) this.logger.warn(excess);
  }

  /** To be asked inside a command, so that no policy changes between the decision and its commit. */
  get inForce(): PolicySet {
    return this.evaluator;
  }

  /** The `rules` of decisions: what the policies in force say, and the default effect. Asked inside a command as well. */
  get rules(): string {
    this.knownRules ??= rulesHash(this.hashes, this.configuration.policyDefaultEffect);
    return this.knownRules;
  }

  /**
   * Resolves when every change that was on disk before the call has taken effect, whichever process made it.
   * @param others what else is kept in memory, caught up with by the same read.
   */
  catchUp(...others: readonly FollowingRows[]): Promise<void> {
    return this.ledger.catchUp(this.rows, ...others);
  }

  /** The policies in force as they are stored, and their set; null if they have changed while they were read. */
  async read(): Promise<StoredPolicies | null> {
    const { policySet } = this.inForce;
    const policies = await this.stored();
    return policySetOf(policies.map(({ id }) => id)) === policySet ? { policies, policySet } : null;
  }

  private async stored(): Promise<Policy[]> {
    const policies: Policy[] = [];
    for await (const chunk of this.records.chunks(POLICY, IN_FORCE, CHUNK)) policies.push(...chunk);
    return policies;
  }

  /** @throws CONFLICT when the changes would exceed a limit of the policies in force. */
  requireRoom(changes: readonly PolicyChange[]): void {
    const left = new Map(this.extents);
    for (const { id } of goingOutOfForce(changes)) left.delete(id);
    const after = totalOf([...left.values(), ...comingIntoForce(changes).map(extentOf)]);
    const fault = capacityFault(totalOf(this.extents.values()), after, this.configuration);
    if (fault !== undefined) throw conflict(fault);
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
    this.requireRoom(changes);
    const identified = changes.map((change) => ({ change, id: idOf(transaction, change) }));
    const staying = identified.flatMap(({ change: { change }, id }) => (change === 'deactivate' ? [] : id));
    const going = goingOutOfForce(changes).map(({ id }) => id);
    const policySet = this.evaluator.policySetWith(staying, going);
    const turn = new Turn();
    const changed: Policy[] = [];
    for (const { change, id } of identified) {
      if (turn.isOver) await turn.next();
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
    await this.change(added, removed);
    await this.warnOf(added);
  }

  private async change(added: readonly Policy[], removed: readonly string[]): Promise<void> {
    const turn = new Turn();
    const hashes = new Map<string, string>();
    for (const policy of added) {
      if (turn.isOver) await turn.next();
      hashes.set(policy.id, sha256(hashedContent(policy)));
    }
    await this.evaluator.change(added, removed);
    for (const id of removed) {
      this.extents.delete(id);
      this.hashes.delete(id);
    }
    for (const policy of added) this.extents.set(policy.id, extentOf(policy));
    for (const [id, hash] of hashes) this.hashes.set(id, hash);
    this.knownRules = null;
  }

  private async warnOf(policies: readonly Policy[]): Promise<void> {
    for (const line of await unreportedWarnings(policies)) this.logger.warn(line);
  }
}

function idOf(transaction: LedgerTransaction, change: PolicyChange): string {
  return change.change === 'create' ? transaction.newId(POLICY) : change.policy.id;
}

/** The most patterns that all policies in force may have. */
const MOST_PATTERNS = 100_000;
/** The most policies in force with limits: what they ask is read for each request. */
const MOST_LIMITED = 100;
const REMEDY = 'Take a policy out of force first, or use fewer or shorter patterns.';

/** The most policies in force, and the most bytes of all their patterns: both are held in memory. */
interface PolicyLimits {
  readonly maxPolicies: number;
  readonly maxPolicyText: number;
}

/** What policies take up. */
interface Extent {
  readonly policies: number;
  /** Of the parts whose text is held in memory. */
  readonly bytes: number;
  readonly patterns: number;
  /** How many have limits. */
  readonly limited: number;
}

function extentOf(policy: Omit<PolicyRules, 'id'>): Extent {
  const { subjects, actions, resources, resourceTypes, conditions, limits, onBehalfOf, approval } = policy;
  const approvers = (approval?.approvers ?? []).map((group) => group.subjects);
  let bytes = conditions.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(conditions));
  let patterns = 0;
  for (const texts of [subjects, actions, resources, resourceTypes, onBehalfOf, ...approvers]) {
    patterns += texts.length;
    for (const text of texts) bytes += Buffer.byteLength(text);
  }
  return { policies: 1, bytes, patterns, limited: limits.length > 0 ? 1 : 0 };
}

function totalOf(extents: Iterable<Extent>): Extent {
  let [policies, bytes, patterns, limited] = [0, 0, 0, 0];
  for (const extent of extents) {
    policies += extent.policies;
    bytes += extent.bytes;
    patterns += extent.patterns;
    limited += extent.limited;
  }
  return { policies, bytes, patterns, limited };
}

/** Why a change of the policies in force is refused; undefined if it is not. What shrinks never is. */
function capacityFault(
  before: Extent,
  after: Extent,
  { maxPolicies, maxPolicyText }: PolicyLimits,
): string | undefined {
  const exceeds = (member: keyof Extent, most: number): boolean =>
    after[member] > before[member] && after[member] > most;
  const { policies, bytes, patterns, limited } = after;
  if (exceeds('policies', maxPolicies))
    return `${policies} policies would be in force, and MAX_POLICIES allows ${maxPolicies}. Take some out of force first.`;
  if (exceeds('limited', MOST_LIMITED))
    return `${limited} policies with limits would be in force, and ${MOST_LIMITED} may be. Take some out of force first.`;
  if (exceeds('bytes', maxPolicyText))
    return `The patterns of all policies in force would have ${bytes} bytes, and MAX_POLICY_TEXT allows ${maxPolicyText}. ${REMEDY}`;
  return exceeds('patterns', MOST_PATTERNS)
    ? `All policies in force would have ${patterns} patterns together, and may have ${MOST_PATTERNS}. ${REMEDY}`
    : undefined;
}

/** By how much the policies in force exceed the limits, because they are older; undefined if they do not. */
function excessOver(
  { policies, bytes, patterns }: Extent,
  { maxPolicies, maxPolicyText }: PolicyLimits,
): string | undefined {
  if (policies <= maxPolicies && bytes <= maxPolicyText && patterns <= MOST_PATTERNS) return undefined;
  return (
    `${policies} policies with ${patterns} patterns of ${bytes} bytes are in force, and remain so; ` +
    `MAX_POLICIES allows ${maxPolicies} and MAX_POLICY_TEXT ${maxPolicyText}, and ${MOST_PATTERNS} patterns are the most, ` +
    `so no further policy can come into force.`
  );
}
