import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { JsonObject, JsonScalar } from '../../core/json/json-value';
import type { RecordKind } from '../../ledger/record-kind';
import { ENTITY } from './governed-entity.entity';

/** A statement about an entity. Contradictory claims coexist. */
@Entity('claims')
@Index(['entityId', 'createdSequence'])
@Index(['entityId', 'predicate', 'createdSequence'])
export class Claim {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  readonly entityId!: string;

  @Column('text')
  readonly predicate!: string;

  @Column('simple-json')
  readonly value!: JsonScalar;

  @Column('simple-json')
  readonly context!: JsonObject;

  @Column('text')
  readonly createdAt!: string;
}

export const CLAIM: RecordKind<Claim> = {
  subjectType: 'claim',
  idPrefix: 'clm',
  table: Claim,
  hashedMembers: ['id', 'entityId', 'predicate', 'value', 'context', 'createdAt'],
  counter: 'claims',
  freeForm: ['value', 'context'],
  owner: { kind: ENTITY, column: 'entityId' },
};
