import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { type Caller, SYSTEM_CALLER } from '../../ledger/kinds/caller';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import { Database } from '../../ledger/database/database';
import { LedgerService } from '../../ledger/ledger.service';
import { AGENT } from '../agents/agent.entity';
import { API_KEY, API_KEY_STATUSES, type ApiKey } from '../api-keys/api-key.entity';
import { isMarkedAwake, markAwake } from '../decisions/changes/change-requests';
import type { ApproverGroup } from '../policies/approval/approval-requirement';
import { changeApprovers, isChangeApprover } from './change-approvers';
import { haveOverlapped, type Tenure } from './tenures';

/** Most people whose tokens are remembered; once changes are held back, no more are. */
const MAX_TOKENS = 1_000;

/**
 * Knows whether changes are held back. With FOUR_EYES, that begins once two people who could approve changes have had a
 * key or token for reviews at the same time: otherwise nobody could make the first change.
 */
@Injectable()
export class FourEyes implements OnApplicationBootstrap {
  private readonly logger = new Logger('FourEyes');
  readonly groups: readonly ApproverGroup[];
  private isAwake = false;
  /** Tenures of tokens by person. */
  private readonly tokens = new Map<string, Tenure>();

  constructor(
    private readonly configuration: Configuration,
    private readonly ledger: LedgerService,
    private readonly database: Database,
  ) {
    this.groups = changeApprovers(configuration);
  }

  get isOn(): boolean {
    return this.configuration.fourEyes;
  }

  /** Time after its approval in which a change must be made, an ISO 8601 duration. */
  get within(): string {
    return this.configuration.changeWithin;
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.isOn) return;
    const isAwake = await this.ledger.write(SYSTEM_CALLER, (transaction) => this.holdsBack(transaction));
    if (isAwake) return;
    this.logger.warn(
      'FOUR_EYES holds nothing back yet: two people who match CHANGE_APPROVERS have to have a key or token with the scope "review" first.',
    );
  }

  /** Remembers a person whose token allows reviews, because no record shows it. */
  noteToken({ actor, agentId, effectiveScopes, expiresAt }: Caller): void {
    if (!this.isOn || this.isAwake || actor.type !== 'token' || agentId === null) return;
    if (!effectiveScopes.has('review') || this.tokens.size >= MAX_TOKENS) return;
    const from = this.tokens.get(agentId)?.from ?? this.ledger.now;
    this.tokens.set(agentId, { agentId, from, until: expiresAt });
  }

  /**
   * True if changes are held back. Must run in a command before its changes. Once true, it stays true for the history
   * of the ledger.
   */
  async holdsBack(transaction: LedgerTransaction): Promise<boolean> {
    if (!this.isOn || this.isAwake) return this.isAwake;
    const isMarked = await isMarkedAwake(this.database);
    if (!isMarked && !haveOverlapped(await this.tenures(transaction))) return false;
    this.isAwake = true;
    if (!isMarked) this.keepMark();
    return true;
  }

  /**
   * Writes the mark outside the command, whose writes may be discarded. If this fails, the next process finds out again
   * that changes are held back.
   */
  private keepMark(): void {
    this.ledger
      .write(SYSTEM_CALLER, (transaction) => {
        transaction.writeWithoutEntry(markAwake(transaction.now));
        return Promise.resolve();
      })
      .catch((error: unknown) =>
        this.logger.error({ msg: 'That changes are held back could not be noted', err: error }),
      );
  }

  private async tenures(transaction: LedgerTransaction): Promise<Tenure[]> {
    const all: Tenure[] = [...this.tokens.values()];
    for (const status of API_KEY_STATUSES)
      all.push(...(await transaction.findAll(API_KEY, { status })).flatMap(tenureOf));
    const approvers = new Set<string>();
    for (const agentId of new Set(all.map((tenure) => tenure.agentId))) {
      const agent = await transaction.find(AGENT, agentId);
      if (agent !== undefined && isChangeApprover(agent, this.groups)) approvers.add(agentId);
    }
    return all.filter(({ agentId }) => approvers.has(agentId));
  }
}

function tenureOf({ agentId, scopes, createdAt, expiresAt, revokedAt }: ApiKey): Tenure[] {
  if (agentId === null || !scopes.includes('review')) return [];
  return [{ agentId, from: createdAt, until: revokedAt ?? expiresAt }];
}
