import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { Turn } from '../../core/concurrency/turn';
import { conflict } from '../../core/errors/domain-error';
import { sha256 } from '../../ledger/chain/hash-chain';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import type { Condition } from '../../ledger/record-page';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { LedgerService } from '../../ledger/ledger.service';
import { type FollowingRows, LiveRows } from '../../ledger/live-rows';
import { RecordReader } from '../../ledger/reading/record-reader';
import { PolicyEvaluator, type PolicySet } from './evaluation/policy-evaluator';
import { type Policy, POLICY, POLICY_ACTIONS } from './policy.entity';
import { hashedContent } from './policy-content';
import { PolicyCapacity, type PolicyPatterns } from './policy-capacity';
import { unreportedWarnings } from './policy-warnings';
import { RulesInForce } from './rules-in-force';

/** Most policies read at once; fewer if they are large. */
const CHUNK = 1_000;
const IN_FORCE: readonly Condition[] = [{ column: 'status', comparison: 'equals', value: 'active' }];

/**
 * The policies in force, in memory. The set changes only after the commit of the change and before any later command
 * runs, so a command always decides by what is on disk.
 */
@Injectable()
export class ActivePolicies implements OnModuleInit {
  private readonly logger = new Logger('Policies');
  private readonly evaluator = new PolicyEvaluator();
  private readonly room: PolicyCapacity;
  private readonly decidedBy = new RulesInForce();
  private readonly rows = new LiveRows<Policy>({
    kind: POLICY,
    actions: POLICY_ACTIONS,
    keep: (policies) => this.apply(policies),
  });

  constructor(
    private readonly ledger: LedgerService,
    private readonly records: RecordReader,
    private readonly counters: CounterReader,
    private readonly configuration: Configuration,
  ) {
    this.room = new PolicyCapacity(configuration);
  }

  async onModuleInit(): Promise<void> {
    const upTo = await this.counters.headSequence();
    const policies = await this.read();
    await this.change(policies, []);
    if (this.room.excess !== undefined) this.logger.warn(this.room.excess);
    await this.warnOf(policies);
    this.ledger.follow(this.rows, upTo);
  }

  /** To be asked inside a command, so that no policy changes between the decision and its commit. */
  get inForce(): PolicySet {
    return this.evaluator;
  }

  /** The `rules` of decisions: what the policies in force say, and the default effect. Asked inside a command as well. */
  get rules(): string {
    return this.decidedBy.hash(this.configuration.policyDefaultEffect);
  }

  /**
   * Resolves when every change that was on disk before the call has taken effect, whichever process made it.
   * @param others what else is kept in memory, caught up with by the same read.
   */
  catchUp(...others: readonly FollowingRows[]): Promise<void> {
    return this.ledger.catchUp(this.rows, ...others);
  }

  /** The policies in force as they are stored, in several reads: what changes in between may be missing, or no longer be in force. */
  async read(): Promise<Policy[]> {
    const policies: Policy[] = [];
    for await (const chunk of this.records.chunks(POLICY, IN_FORCE, CHUNK)) policies.push(...chunk);
    return policies;
  }

  /**
   * Called before policies come into force while others are removed.
   * @throws CONFLICT when the limit of policies in force is reached.
   */
  requireRoom(added: readonly PolicyPatterns[], removed: readonly Policy[]): void {
    const removedIds = removed.map(({ id }) => id);
    const fault = this.room.faultOf(added, removedIds);
    if (fault !== undefined) throw conflict(fault);
  }

  /**
   * Puts policies in force, or removes them, according to their status, once the command is on disk. To be called once with
   * all that a command changes: between two calls, evaluations would see a set that was never in force.
   */
  follow(transaction: LedgerTransaction, policies: readonly Policy[]): void {
    this.rows.follow(transaction, policies);
  }

  private async apply(policies: readonly Policy[]): Promise<void> {
    const added = policies.filter(({ status }) => status === 'active');
    const removed = policies.flatMap(({ id, status }) => (status === 'active' ? [] : [id]));
    await this.change(added, removed);
    await this.warnOf(added);
  }

  private async change(added: readonly Policy[], removed: readonly string[]): Promise<void> {
    const hashes = await contentHashes(added);
    await this.evaluator.change(added, removed);
    for (const id of removed) {
      this.room.free(id);
      this.decidedBy.remove(id);
    }
    for (const policy of added) this.room.take(policy);
    for (const [id, hash] of hashes) this.decidedBy.put(id, hash);
  }

  private async warnOf(policies: readonly Policy[]): Promise<void> {
    for (const line of await unreportedWarnings(policies)) this.logger.warn(line);
  }
}

/** By id. */
async function contentHashes(policies: readonly Policy[]): Promise<ReadonlyMap<string, string>> {
  const turn = new Turn();
  const hashes = new Map<string, string>();
  for (const policy of policies) {
    if (turn.isOver) await turn.next();
    hashes.set(policy.id, sha256(hashedContent(policy)));
  }
  return hashes;
}
