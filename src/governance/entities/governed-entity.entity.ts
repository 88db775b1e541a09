import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { JsonObject } from '../../core/json/json-value';
import type { RecordKind } from '../../ledger/record-kind';

/** A record of something the enterprise governs. Not called `Entity`, as that is TypeORM's decorator. */
@Entity('entities')
@Index(['type', 'createdSequence'])
@Index(['name', 'createdSequence'])
export class GovernedEntity {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  readonly type!: string;

  @Column('text')
  readonly name!: string;

  @Column('simple-json')
  readonly properties!: JsonObject;

  @Column('text')
  readonly createdAt!: string;

  @Column('text')
  readonly updatedAt!: string;

  @Column('integer')
  readonly revision!: number;
}

export const ENTITY: RecordKind<GovernedEntity> = {
  subjectType: 'entity',
  idPrefix: 'ent',
  table: GovernedEntity,
  hashedMembers: ['id', 'type', 'name', 'properties', 'createdAt', 'updatedAt', 'revision'],
  counter: 'entities',
  freeForm: ['properties'],
  countedBy: ['type'],
};
