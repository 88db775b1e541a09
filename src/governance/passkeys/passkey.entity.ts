import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { RecordKind } from '../../ledger/record-kind';

/** A WebAuthn credential of a person. It never changes; bytes are base64url. */
@Entity('passkeys')
@Index(['agentId', 'createdSequence'])
@Index(['credentialId', 'createdSequence'])
export class Passkey {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  /** An agent of kind `human`. */
  @Column('text')
  readonly agentId!: string;

  @Column('text')
  readonly name!: string;

  /** As its authenticator calls it. */
  @Column('text')
  readonly credentialId!: string;

  /** DER of a SubjectPublicKeyInfo. */
  @Column('text')
  readonly publicKey!: string;

  /** The host for which it is good. */
  @Column('text')
  readonly rpId!: string;

  @Column('text')
  readonly createdAt!: string;
}

/** How the ledger keeps passkeys. The hashed members are frozen. */
export const PASSKEY: RecordKind<Passkey> = {
  subjectType: 'passkey',
  idPrefix: 'psk',
  table: Passkey,
  hashedMembers: ['id', 'agentId', 'name', 'credentialId', 'publicKey', 'rpId', 'createdAt'],
  counter: 'passkeys',
  countedBy: ['agentId'],
  fixed: ['agentId', 'credentialId'],
};
