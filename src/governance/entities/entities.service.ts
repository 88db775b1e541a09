import { Injectable } from '@nestjs/common';
import { requireFound, notFound } from '../../core/errors/domain-error';
import type { Precondition } from '../../http/request/precondition';
import type { Caller } from '../../ledger/kinds/caller';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { byId } from '../../ledger/kinds/lookup';
import type { Page, PageRequest } from '../../ledger/kinds/record-page';
import { RecordReader } from '../../ledger/reading/record-reader';
import { CLAIM, type Claim, predicateKeyOf } from './claim.entity';
import type { CreateClaimRequest, CreateEntityRequest, UpdateEntityRequest } from './dto/entity.dto';
import { ENTITY, type GovernedEntity } from './governed-entity.entity';
import { changedMembers } from '../../ledger/records/changed-members';
import type { ShownMember } from '../../ledger/records/record-text';
import type { WrittenPage } from '../../ledger/reading/written-page';

@Injectable()
export class EntitiesService {
  constructor(private readonly ledger: LedgerService) {}

  create(caller: Caller, { type, name, properties = {} }: CreateEntityRequest): Promise<GovernedEntity> {
    return this.ledger.write(caller, async (transaction) => {
      const { now } = transaction;
      const id = transaction.newId(ENTITY);
      const entity = { id, type, name, properties, createdAt: now, updatedAt: now, revision: 1 };
      return transaction.insert(ENTITY, entity, { action: 'entity.created', entityId: id });
    });
  }

  /** Updates an entity; writes no entry if nothing changes. @throws NOT_FOUND; PRECONDITION_FAILED */
  update(caller: Caller, id: string, precondition: Precondition, update: UpdateEntityRequest): Promise<GovernedEntity> {
    return this.ledger.withLookups(byId(ENTITY, id)).write(caller, async (transaction) => {
      const entity = await existing(transaction, id, precondition);
      const changes = changedMembers(entity, update, CHANGEABLE);
      const fields = Object.keys(changes);
      if (fields.length === 0) return entity;
      const changed = { ...entity, ...changes, updatedAt: transaction.now, revision: entity.revision + 1 };
      return transaction.update(ENTITY, changed, { action: 'entity.updated', entityId: id, details: { fields } });
    });
  }

  /** Removes an entity with its claims; its history stays. @throws NOT_FOUND; PRECONDITION_FAILED */
  remove(caller: Caller, id: string, precondition: Precondition): Promise<void> {
    return this.ledger.withLookups(byId(ENTITY, id)).write(caller, async (transaction) => {
      const entity = await existing(transaction, id, precondition);
      const claims = await transaction.removeWithOwner(CLAIM, id);
      transaction.remove(ENTITY, entity, { action: 'entity.deleted', entityId: id, details: { claims } });
    });
  }
}

@Injectable()
export class ClaimsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
  ) {}

  /** @throws NOT_FOUND when there is no such entity. */
  async list(
    entityId: string,
    members: readonly ShownMember[],
    request: PageRequest,
  ): Promise<WrittenPage | Page<Claim>> {
    if (!(await this.reader.exists(ENTITY, entityId))) throw notFound('entity');
    return this.reader.shownPage(CLAIM, members, request);
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

  /** Adds a claim. Contradictory claims coexist; no claim overwrites another. @throws NOT_FOUND */
  add(caller: Caller, entityId: string, { predicate, value, context = {} }: CreateClaimRequest): Promise<Claim> {
    return this.ledger.withLookups(byId(ENTITY, entityId)).write(caller, async (transaction) => {
      if (!(await transaction.exists(ENTITY, entityId))) throw notFound('entity');
      const id = transaction.newId(CLAIM);
      const content = { predicate, predicateKey: predicateKeyOf(predicate), value, context };
      const claim = { id, entityId, ...content, createdAt: transaction.now };
      return transaction.insert(CLAIM, claim, { action: 'claim.added', entityId });
    });
  }

  /** @throws NOT_FOUND */
  remove(caller: Caller, entityId: string, claimId: string): Promise<void> {
    const lookups = [byId(ENTITY, entityId), byId(CLAIM, claimId)];
    return this.ledger.withLookups(...lookups).write(caller, async (transaction) => {
      const hasEntity = await transaction.exists(ENTITY, entityId);
      const claim = await transaction.find(CLAIM, claimId);
      if (!hasEntity || claim?.entityId !== entityId) throw notFound('claim');
      transaction.remove(CLAIM, claim, { action: 'claim.removed', entityId });
    });
  }
}

async function existing(
  transaction: LedgerTransaction,
  id: string,
  precondition: Precondition,
): Promise<GovernedEntity> {
  const entity = requireFound(await transaction.find(ENTITY, id), 'entity');
  precondition.require(entity.revision);
  return entity;
}

const CHANGEABLE = ['type', 'name', 'properties'] as const;
