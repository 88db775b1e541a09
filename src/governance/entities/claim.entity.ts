import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { sampleId } from '../../http/openapi/documentation.decorators';
import type { JsonObject, JsonScalar } from '../../core/json/json-value';
import type { RecordKind } from '../../ledger/kinds/record-kind';
import { ENTITY } from './governed-entity.entity';
import { normalFormC } from '../../core/values/normal-form';

/** A statement about an entity. Contradictory claims coexist. */
@Entity('claims')
@Index(['entityId', 'createdSequence'])
@Index(['entityId', 'predicate', 'createdSequence'])
@Index(['entityId', 'predicateKey', 'createdSequence'])
export class Claim {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('clm') })
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  @ApiProperty({ example: sampleId('ent') })
  readonly entityId!: string;

  @Column('text')
  @ApiProperty({ example: 'data_classification' })
  readonly predicate!: string;

  /** The predicate as conditions compare it: in Unicode normal form C. Not hashed. */
  @Column('text', { default: '' })
  readonly predicateKey!: string;

  @Column('simple-json')
  @ApiProperty({ oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }], example: 'confidential' })
  readonly value!: JsonScalar;

  @Column('simple-json')
  @ApiProperty({ type: 'object', additionalProperties: true, example: { confidence: 0.95, source: 'data-catalogue' } })
  readonly context!: JsonObject;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;
}

export const CLAIM: RecordKind<Claim> = {
  subjectType: 'claim',
  idPrefix: 'clm',
  table: Claim,
  hashedMembers: ['id', 'entityId', 'predicate', 'value', 'context', 'createdAt'],
  counter: 'claims',
  owner: { kind: ENTITY, column: 'entityId' },
  unhashedAgree: ({ predicate, predicateKey }) => predicateKey === predicateKeyOf(String(predicate)),
};

/** Returns the value that `predicateKey` must have. */
export function predicateKeyOf(predicate: string): string {
  return normalFormC(predicate);
}
