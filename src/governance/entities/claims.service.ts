import { Injectable } from '@nestjs/common';
import { notFound } from '../../core/errors/domain-error';
import type { Caller } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { byId, existence } from '../../ledger/lookup';
import { CLAIM, type Claim, predicateKeyOf } from './claim.entity';
import type { CreateClaimRequest } from './dto/entity.dto';
import { ENTITY } from './governed-entity.entity';
import type { Page, PageRequest } from '../../ledger/record-page';
import { RecordReader } from '../../ledger/reading/record-reader';

@Injectable()
export class ClaimsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
  ) {}

  /** @throws NOT_FOUND when there is no such entity. */
  async list(entityId: string, request: PageRequest): Promise<Page<Claim>> {
    if (!(await this.reader.exists(ENTITY, entityId))) throw notFound('entity');
    return this.reader.page(CLAIM, request);
  }

  /** @throws NOT_FOUND when the entity has no such claim. */
  async get(entityId: string, claimId: string): Promise<Claim> {
    const [hasEntity, claim] = await Promise.all([
      this.reader.exists(ENTITY, entityId),
      this.reader.find(CLAIM, claimId),
    ]);
    // Claims of a removed entity may still exist.
    if (!hasEntity || claim?.entityId !== entityId) throw notFound('claim');
    return claim;
  }

  /** Contradictory claims coexist; none overwrites another. @throws NOT_FOUND */
  add(caller: Caller, entityId: string, { predicate, value, context = {} }: CreateClaimRequest): Promise<Claim> {
    return this.ledger.prefetching(existence(ENTITY, entityId)).write(caller, async (transaction) => {
      if (!(await transaction.exists(ENTITY, entityId))) throw notFound('entity');
      const id = transaction.newId(CLAIM);
      const said = { predicate, predicateKey: predicateKeyOf(predicate), value, context };
      const claim = { id, entityId, ...said, createdAt: transaction.now };
      return transaction.insert(CLAIM, claim, { action: 'claim.added', entityId });
    });
  }

  /** @throws NOT_FOUND */
  remove(caller: Caller, entityId: string, claimId: string): Promise<void> {
    const lookups = [existence(ENTITY, entityId), byId(CLAIM, claimId)];
    return this.ledger.prefetching(...lookups).write(caller, async (transaction) => {
      const hasEntity = await transaction.exists(ENTITY, entityId);
      const claim = await transaction.find(CLAIM, claimId);
      if (!hasEntity || claim?.entityId !== entityId) throw notFound('claim');
      transaction.remove(CLAIM, claim, { action: 'claim.removed', entityId });
    });
  }
}
