import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Scope } from '../../ledger/caller';
import type { RecordKind } from '../../ledger/record-kind';
import type { EntryNote } from '../../ledger/ledger-transaction';

export const API_KEY_STATUSES = ['active', 'revoked', 'expired'] as const;
export type ApiKeyStatus = (typeof API_KEY_STATUSES)[number];

/** A key that the service has issued, as it is stored. */
@Entity('api_keys')
@Index(['status', 'createdSequence'])
@Index(['agentId', 'createdSequence'])
@Index(['status', 'agentId', 'createdSequence'])
export class ApiKey {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  readonly name!: string;

  @Column('simple-json')
  readonly scopes!: readonly Scope[];

  /** The only agent that its holder may act as. */
  @Column('text', { nullable: true })
  readonly agentId!: string | null;

  /** Patterns of the principals on whose behalf its holder may act; of an unbound key none, as it may for anybody. */
  @Column('simple-json', { default: '[]' })
  readonly principals!: readonly string[];

  /** The prefix of the secret: it identifies the key. */
  @Column('text')
  readonly prefix!: string;

  /** SHA-256 of the secret, in hex: nothing else of it is stored. */
  @Column('text')
  readonly secretHash!: string;

  @Column('text')
  readonly status!: ApiKeyStatus;

  @Column('text')
  readonly createdAt!: string;

  @Column('text', { nullable: true })
  readonly expiresAt!: string | null;

  @Column('text', { nullable: true })
  readonly revokedAt!: string | null;
}

/** How the ledger keeps keys. The hashed members are frozen. */
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
  laterMembers: { principals: [] },
  counter: 'api_keys',
  countedBy: ['status', 'agentId'],
  isKeptInMemory: true,
};

type Key = Pick<ApiKey, 'agentId' | 'scopes' | 'expiresAt'>;

export function createdNote({ agentId, scopes, expiresAt }: Key): EntryNote {
  return { action: 'api_key.created', agentId, details: { scopes, expiresAt } };
}

export function revokedNote({ agentId }: Key, reason: string | null): EntryNote {
  return { action: 'api_key.revoked', agentId, reason };
}

export function expiredNote({ agentId, expiresAt }: Key): EntryNote {
  return { action: 'api_key.expired', agentId, details: { expiresAt }, bySystem: true };
}
