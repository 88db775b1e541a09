import { Injectable } from '@nestjs/common';
import {
  conflict,
  type DomainError,
  requireFound,
  permissionDenied,
  scopeMissing,
} from '../../../core/errors/domain-error';
import type { AdmissionRule } from '../../../http/request/routes';
import type { Caller } from '../../../ledger/kinds/caller';
import { LedgerService } from '../../../ledger/ledger.service';
import { type LedgerTransaction, Refusal } from '../../../ledger/commands/ledger-transaction';
import { byId } from '../../../ledger/kinds/lookup';
import { RecordReader } from '../../../ledger/reading/record-reader';
import { CounterReader } from '../../../ledger/reading/counter-reader';
import { DECISION } from '../decision.entity';
import { DUE_GRANTS, revokeGrant } from './grant-changes';
import { givingReviews } from './grant-rules';
import { grantSum } from '../../policies/approval/approval-requirement';
import { type Grant, GRANT } from './grant.entity';

/** A grant, with the number of uses taken. */
type UsedGrant = Grant & { readonly used: number };

/** Lets agents see their own grants with any scope; others need a scope to read or to review. */
@Injectable()
export class GrantReaders implements AdmissionRule {
  refusalOf({ agentId, effectiveScopes }: Caller): DomainError | null {
    const mayRead = agentId !== null || effectiveScopes.has('read') || effectiveScopes.has('review');
    return mayRead ? null : scopeMissing(['read', 'review']);
  }
}

@Injectable()
export class GrantsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly records: RecordReader,
    private readonly counters: CounterReader,
  ) {}

  /** @throws NOT_FOUND, also for a grant that the caller may not see */
  async get(caller: Caller, id: string): Promise<UsedGrant> {
    return this.withUse(requireFound(await this.records.find(GRANT, id, caller), 'grant'));
  }

  /** Adds the uses taken to grants, in one statement. */
  async withUses(grants: readonly Grant[]): Promise<UsedGrant[]> {
    const sums = grants.length === 0 ? [] : await this.counters.sums(grants.map(({ id }) => grantSum(id)));
    return grants.map((grant, index) => usedGrant(grant, Number(sums[index] ?? 0)));
  }

  /** Revokes a grant. @throws NOT_FOUND; PERMISSION_DENIED for callers who did not give it; CONFLICT if it has ended */
  async revoke(caller: Caller, id: string, reason: string | null): Promise<UsedGrant> {
    const revoked = await this.ledger.withLookups(byId(GRANT, id)).write(caller, async (transaction) => {
      const grant = requireFound(await transaction.findVisible(GRANT, id), 'grant');
      const isOver = grant.status === 'active' && grant.until <= transaction.now;
      if (isOver) await DUE_GRANTS.settle(transaction, grant);
      const status = isOver ? 'expired' : grant.status;
      // Returned, not thrown, so that the expiry is written.
      if (status !== 'active')
        return new Refusal(conflict(`The grant is ${status} already; only one that is active can be revoked.`));
      await requireGiver(transaction, grant);
      return revokeGrant(transaction, grant, reason);
    });
    return this.withUse(revoked);
  }

  private async withUse(grant: Grant): Promise<UsedGrant> {
    const [used] = await this.withUses([grant]);
    return used ?? usedGrant(grant, 0);
  }
}

/**
 * Requires that a caller bound to an agent, without `admin`, only revokes grants that the agent gave. @throws
 * PERMISSION_DENIED
 */
async function requireGiver(transaction: LedgerTransaction, { decisionId }: Grant): Promise<void> {
  const { agentId, effectiveScopes } = transaction.caller;
  if (agentId === null || effectiveScopes.has('admin')) return;
  const decision = await transaction.find(DECISION, decisionId);
  const givers = decision === undefined ? [] : givingReviews(decision).map(({ approverId }) => approverId);
  if (!givers.includes(agentId))
    throw permissionDenied('not_an_approver', 'Only one of the reviewers who gave this grant can revoke it.');
}

/**
 * Adds the uses, which are read after the row: the last one may have been taken in between, while the row still says
 * `active`.
 */
function usedGrant(grant: Grant, used: number): UsedGrant {
  const isUsedUp = grant.status === 'active' && used === grant.uses;
  return { ...grant, ...(isUsedUp && { status: 'used_up' as const }), used };
}
