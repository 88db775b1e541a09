import { canonicalJson } from '../ledger/canonical-json';
import type { UpdateEntityRequest } from './dto/update-entity.request';
import type { GovernedEntity } from './governed-entity.entity';

const CHANGEABLE = ['type', 'name', 'properties'] as const;

export type ChangedField = (typeof CHANGEABLE)[number];

/** The fields an update really changes: those given with another value than they have. */
export function changedFields(entity: GovernedEntity, update: UpdateEntityRequest): ChangedField[] {
  return CHANGEABLE.filter((field) => {
    const value = update[field];
    return value !== undefined && canonicalJson(value) !== canonicalJson(entity[field]);
  });
}

export function updated(entity: GovernedEntity, update: UpdateEntityRequest, now: string): GovernedEntity {
  const { type = entity.type, name = entity.name, properties = entity.properties } = update;
  return { ...entity, type, name, properties, updatedAt: now, revision: entity.revision + 1 };
}
