import type { RecordKind } from '../ledger/record-kind';
import { Claim } from './claim.entity';
import { ENTITY } from './entity.kind';

export const CLAIM: RecordKind<Claim> = {
  subjectType: 'claim',
  idPrefix: 'clm',
  table: Claim,
  hashedMembers: ['id', 'entityId', 'predicate', 'value', 'context', 'createdAt'],
  counter: 'claims',
  freeForm: ['value', 'context'],
  owner: { kind: ENTITY, column: 'entityId' },
};
