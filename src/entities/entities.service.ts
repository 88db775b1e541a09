import { Injectable } from '@nestjs/common';
import { notFound, preconditionFailed } from '../errors/domain-error';
import type { Precondition } from '../http/conditional/precondition';
import type { Caller } from '../ledger/caller';
import type { EntryNote, LedgerTransaction } from '../ledger/ledger-transaction';
import { LedgerService } from '../ledger/ledger.service';
import { byId } from '../ledger/lookup';
import { RecordReader } from '../ledger/record-reader';
import type { Page, PageRequest } from '../ledger/record-page';
import { CLAIM } from './claim.kind';
import type { CreateEntityRequest } from './dto/create-entity.request';
import type { UpdateEntityRequest } from './dto/update-entity.request';
import { changedFields, updated } from './entity-changes';
import { ENTITY } from './entity.kind';
import type { GovernedEntity } from './governed-entity.entity';

@Injectable()
export class EntitiesService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
  ) {}

  list(request: PageRequest): Promise<Page<GovernedEntity>> {
    return this.reader.page(ENTITY, request);
  }

  /** @throws NOT_FOUND */
  async get(id: string): Promise<GovernedEntity> {
    const entity = await this.reader.find(ENTITY, id);
    if (entity === undefined) throw notFound('entity');
    return entity;
  }

  create(caller: Caller, { type, name, properties = {} }: CreateEntityRequest): Promise<GovernedEntity> {
    return this.ledger.write(caller, async (transaction) => {
      const { now } = transaction;
      const id = transaction.newId(ENTITY);
      const entity = { id, type, name, properties, createdAt: now, updatedAt: now, revision: 1 };
      return transaction.insert(ENTITY, entity, noteOn(id, 'entity.created'));
    });
  }

  /** An update that changes nothing leaves no entry. @throws NOT_FOUND, PRECONDITION_FAILED */
  update(caller: Caller, id: string, precondition: Precondition, update: UpdateEntityRequest): Promise<GovernedEntity> {
    return this.ledger.expecting(byId(ENTITY, id)).write(caller, async (transaction) => {
      const entity = await existing(transaction, id, precondition);
      const fields = changedFields(entity, update);
      if (fields.length === 0) return entity;
      const changed = updated(entity, update, transaction.now);
      return transaction.update(ENTITY, changed, { ...noteOn(id, 'entity.updated'), details: { fields } });
    });
  }

  /** Its claims go with it; its history stays. @throws NOT_FOUND, PRECONDITION_FAILED */
  remove(caller: Caller, id: string, precondition: Precondition): Promise<void> {
    return this.ledger.expecting(byId(ENTITY, id)).write(caller, async (transaction) => {
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
  const entity = await transaction.find(ENTITY, id);
  if (entity === undefined) throw notFound('entity');
  if (!precondition.matches(entity.revision)) throw preconditionFailed();
  return entity;
}

function noteOn(entityId: string, action: string): EntryNote {
  return { action, entityId };
}
