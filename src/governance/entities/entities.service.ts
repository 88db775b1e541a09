import { Injectable } from '@nestjs/common';
import { found } from '../../core/errors/domain-error';
import type { Precondition } from '../../http/conditional/precondition';
import type { Caller } from '../../ledger/caller';
import type { EntryNote, LedgerTransaction } from '../../ledger/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { byId } from '../../ledger/lookup';
import { CLAIM } from './claim.entity';
import type { CreateEntityRequest, UpdateEntityRequest } from './dto/entity.dto';
import { ENTITY, type GovernedEntity } from './governed-entity.entity';
import { changedMembers } from '../../ledger/records/changed-members';

@Injectable()
export class EntitiesService {
  constructor(private readonly ledger: LedgerService) {}

  create(caller: Caller, { type, name, properties = {} }: CreateEntityRequest): Promise<GovernedEntity> {
    return this.ledger.write(caller, async (transaction) => {
      const { now } = transaction;
      const id = transaction.newId(ENTITY);
      const entity = { id, type, name, properties, createdAt: now, updatedAt: now, revision: 1 };
      return transaction.insert(ENTITY, entity, noteOn(id, 'entity.created'));
    });
  }

  /** An update that changes nothing writes no entry. @throws NOT_FOUND, PRECONDITION_FAILED */
  update(caller: Caller, id: string, precondition: Precondition, update: UpdateEntityRequest): Promise<GovernedEntity> {
    return this.ledger.prefetching(byId(ENTITY, id)).write(caller, async (transaction) => {
      const entity = await existing(transaction, id, precondition);
      const changes = changedMembers(entity, update, CHANGEABLE);
      const fields = Object.keys(changes);
      if (fields.length === 0) return entity;
      const changed = { ...entity, ...changes, updatedAt: transaction.now, revision: entity.revision + 1 };
      return transaction.update(ENTITY, changed, { ...noteOn(id, 'entity.updated'), details: { fields } });
    });
  }

  /** Its claims are removed with it; its history stays. @throws NOT_FOUND, PRECONDITION_FAILED */
  remove(caller: Caller, id: string, precondition: Precondition): Promise<void> {
    return this.ledger.prefetching(byId(ENTITY, id)).write(caller, async (transaction) => {
      const entity = await existing(transaction, id, precondition);
      const claims = await transaction.removeWithOwner(CLAIM, id);
      transaction.remove(ENTITY, entity, { ...noteOn(id, 'entity.deleted'), details: { claims } });
    });
  }
}

async function existing(
  transaction: LedgerTransaction,
  id: string,
  precondition: Precondition,
): Promise<GovernedEntity> {
  const entity = found(await transaction.find(ENTITY, id), 'entity');
  precondition.require(entity.revision);
  return entity;
}

function noteOn(entityId: string, action: string): EntryNote {
  return { action, entityId };
}

const CHANGEABLE = ['type', 'name', 'properties'] as const;
