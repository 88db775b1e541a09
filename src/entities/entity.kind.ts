import type { RecordKind } from '../ledger/record-kind';
import { GovernedEntity } from './governed-entity.entity';

export const ENTITY: RecordKind<GovernedEntity> = {
  subjectType: 'entity',
  idPrefix: 'ent',
  table: GovernedEntity,
  hashedMembers: ['id', 'type', 'name', 'properties', 'createdAt', 'updatedAt', 'revision'],
  counter: 'entities',
  freeForm: ['properties'],
  countedBy: ['type'],
};
