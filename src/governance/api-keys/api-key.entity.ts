import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { ApiMember, ApiNullableText, ApiNullableTime } from '../../http/openapi/response-members';
import { sampleId } from '../../http/openapi/documentation.decorators';
import { type Scope, SCOPES } from '../../ledger/kinds/caller';
import type { RecordKind } from '../../ledger/kinds/record-kind';

export const API_KEY_STATUSES = ['active', 'revoked', 'expired'] as const;
export type ApiKeyStatus = (typeof API_KEY_STATUSES)[number];

const SAMPLE_ULID = sampleId('key').slice('key_'.length);
/** The prefix of the secrets in examples. */
export const SAMPLE_PREFIX = `agk_${SAMPLE_ULID}`;

/** An issued key as it is stored, and as responses show it. */
@Entity('api_keys')
@Index(['status', 'createdSequence'])
@Index(['agentId', 'createdSequence'])
@Index(['status', 'agentId', 'createdSequence'])
export class ApiKey {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('key') })
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  @ApiProperty({ example: 'reminder-bot in production' })
  readonly name!: string;

  @Column('simple-json')
  @ApiProperty({ enum: SCOPES, enumName: 'Scope', isArray: true, example: ['execute', 'propose'] })
  readonly scopes!: readonly Scope[];

  /** The only agent that its holder may act as. */
  @Column('text', { nullable: true })
  @ApiNullableText('The agent to which it is bound; null: none.', sampleId('agt'))
  readonly agentId!: string | null;

  /** Patterns of principals; empty for an unbound key, whose holder may act for anybody. */
  @Column('simple-json', { default: '[]' })
  @ApiMember('Patterns of the principals on whose behalf its holder may act.', { type: [String], example: ['user:*'] })
  readonly principals!: readonly string[];

  @Column('text', { nullable: true })
  @ApiNullableText('The team whose records alone its holder writes and reads; null: of none.')
  readonly team!: string | null;

  @Column('text')
  @ApiMember('What the secret begins with.', { example: SAMPLE_PREFIX })
  readonly prefix!: string;

  /** SHA-256, in hex, of the secret, which is not stored itself. It has 256 random bits, so it cannot be guessed. */
  @Column('text')
  readonly secretHash!: string;

  @Column('text')
  @ApiProperty({ enum: API_KEY_STATUSES, enumName: 'ApiKeyStatus', example: 'active' })
  readonly status!: ApiKeyStatus;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @Column('text', { nullable: true })
  @ApiNullableTime('Null: never.')
  readonly expiresAt!: string | null;

  @Column('text', { nullable: true })
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly revokedAt!: string | null;
}

/** The keys' record kind. The hashed members are frozen. */
export const API_KEY: RecordKind<ApiKey> = {
  subjectType: 'api_key',
  idPrefix: 'key',
  table: ApiKey,
  hashedMembers: [
    'id',
    'name',
    'scopes',
    'agentId',
    'prefix',
    'secretHash',
    'status',
    'createdAt',
    'expiresAt',
    'revokedAt',
  ],
  laterMembers: { principals: [], team: null },
  counter: 'api_keys',
  countedBy: ['status', 'agentId'],
  isKeptInMemory: true,
};
