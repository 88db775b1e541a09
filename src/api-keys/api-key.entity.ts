import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Scope } from '../ledger/caller';

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

  /** The agent that its holder acts as, and as no other. */
  @Column('text', { nullable: true })
  readonly agentId!: string | null;

  /** What the secret begins with: it tells which key a secret is of. */
  @Column('text')
  readonly prefix!: string;

  /** SHA-256 of the secret, in hex: all that is kept of it. */
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
