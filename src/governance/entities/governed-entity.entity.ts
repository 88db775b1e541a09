import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { ApiCount } from '../../http/openapi/response-members';
import { sampleId } from '../../http/openapi/documentation.decorators';
import type { JsonObject } from '../../core/json/json-value';
import type { RecordKind } from '../../ledger/kinds/record-kind';

/** A record of something the enterprise governs. Not called `Entity`, as that is TypeORM's decorator. */
@Entity('entities')
@Index(['type', 'createdSequence'])
@Index(['name', 'createdSequence'])
export class GovernedEntity {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('ent') })
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  @ApiProperty({ example: 'service' })
  readonly type!: string;

  @Column('text')
  @ApiProperty({ example: 'Payment gateway' })
  readonly name!: string;

  @Column('simple-json')
  @ApiProperty({ type: 'object', additionalProperties: true, example: { owner: 'team-payments', tier: 1 } })
  readonly properties!: JsonObject;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly updatedAt!: string;

  @Column('integer')
  @ApiCount('Incremented by each change; used as the ETag.', { minimum: 1 })
  readonly revision!: number;
}

export const ENTITY: RecordKind<GovernedEntity> = {
  subjectType: 'entity',
  idPrefix: 'ent',
  table: GovernedEntity,
  hashedMembers: ['id', 'type', 'name', 'properties', 'createdAt', 'updatedAt', 'revision'],
  counter: 'entities',
  countedBy: ['type'],
};
