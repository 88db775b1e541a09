import { Injectable, Logger } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { Configuration } from '../config/configuration';
import { conflict } from '../errors/domain-error';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import type { Condition } from '../ledger/record-page';
import { CounterReader } from '../ledger/counter-reader';
import { LedgerService } from '../ledger/ledger.service';
import type { ForeignChanges, MemoryFollower } from '../ledger/memory-followers';
import { RecordReader } from '../ledger/record-reader';
import type { Evaluation, EvaluationRequest } from './evaluation/evaluation-request';
import { PolicyEvaluator } from './evaluation/policy-evaluator';
import type { Policy } from './policy.entity';
import { POLICY } from './policy.kind';
import { POLICY_ACTIONS } from './policy-notes';
import { PolicyRoom } from './policy-room';
import { unsaidWarnings } from './unsaid-warnings';

/** Policies that are read at once at most; fewer where they are large. */
const PIECE = 1_000;
const IN_FORCE: readonly Condition[] = [{ column: 'status', comparison: 'equals', value: 'active' }];

/**
 * The policies in force, in memory. It changes only after the commit of what changes it and before any later command
 * runs, so a command always decides by what is on disk.
 */
@Injectable()
export class PolicyBook implements OnModuleInit, MemoryFollower {
  private readonly logger = new Logger('Policies');
  private readonly evaluator = new PolicyEvaluator();
  private readonly room: PolicyRoom;

  constructor(
    private readonly ledger: LedgerService,
    private readonly records: RecordReader,
    private readonly counters: CounterReader,
    configuration: Configuration,
  ) {
    this.room = new PolicyRoom(configuration);
  }

  async onModuleInit(): Promise<void> {
    const upTo = await this.counters.headSequence();
    const policies = await this.readPoliciesInForce();
    this.evaluator.addAll(policies);
    for (const policy of policies) this.room.take(policy);
    if (this.room.excess !== undefined) this.logger.warn(this.room.excess);
    this.warnOf(policies);
    this.ledger.follow(this, upTo);
  }

  /** Called inside a command, so that no policy changes between the decision and its commit. */
  evaluate(request: EvaluationRequest): Evaluation {
    return this.evaluator.evaluate(request);
  }

  /** Called inside a command, before the policy comes into force in place of another. @throws CONFLICT when there is no room. */
  requireRoom(policy: Pick<Policy, 'subjects' | 'actions' | 'resources' | 'resourceTypes'>, replaced?: Policy): void {
    const fault = this.room.faultOf(policy, replaced?.id ?? null);
    if (fault !== undefined) throw conflict(fault);
  }

  /** Puts a policy in force, or takes it out, as its status says, once the command is on disk. */
  follow(transaction: LedgerTransaction, policy: Policy): void {
    transaction.afterCommit(() => this.apply(policy));
  }

  /** Takes over what other processes have put in force, or taken out of it. */
  async catchUp(changes: ForeignChanges): Promise<void> {
    const policies = await changes.rowsAfter(POLICY, POLICY_ACTIONS);
    policies.forEach((policy) => this.apply(policy));
  }

  private apply(policy: Policy): void {
    if (policy.status === 'active') {
      this.evaluator.add(policy);
      this.room.take(policy);
      this.warnOf([policy]);
    } else {
      this.evaluator.remove(policy.id);
      this.room.free(policy.id);
    }
  }

  private warnOf(policies: readonly Policy[]): void {
    for (const line of unsaidWarnings(policies)) this.logger.warn(line);
  }

  private async readPoliciesInForce(): Promise<Policy[]> {
    const policies: Policy[] = [];
    for await (const piece of this.records.pieces(POLICY, IN_FORCE, PIECE)) policies.push(...piece);
    return policies;
  }
}
