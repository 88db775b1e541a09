import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { ApiMember } from '../../http/openapi/response-members';
import { sampleId } from '../../http/openapi/documentation.decorators';
import type { RecordKind } from '../../ledger/kinds/record-kind';

/** A WebAuthn credential of a person. It never changes; bytes are base64url. */
@Entity('passkeys')
@Index(['agentId', 'createdSequence'])
@Index(['credentialId', 'createdSequence'])
export class Passkey {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('psk') })
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  /** An agent of kind `human`. */
  @Column('text')
  @ApiProperty({ example: sampleId('agt', 2) })
  readonly agentId!: string;

  @Column('text')
  @ApiProperty({ example: 'Phone' })
  readonly name!: string;

  @Column('text')
  @ApiMember('Its id at the authenticator, in base64url.', { example: 'AAAA' })
  readonly credentialId!: string;

  @Column('text')
  @ApiMember('SubjectPublicKeyInfo in base64url: ES256, EdDSA or RS256.', { example: 'MFkw' })
  readonly publicKey!: string;

  @Column('text')
  @ApiMember('The host for which it was made: that of `PUBLIC_URL` at the time.', { example: 'governance.example.com' })
  readonly rpId!: string;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;
}

/** Action of the entry about the removal of a passkey. */
export const PASSKEY_REMOVED = 'passkey.removed';

/** The record kind of passkeys. The hashed members are frozen. */
export const PASSKEY: RecordKind<Passkey> = {
  subjectType: 'passkey',
  idPrefix: 'psk',
  table: Passkey,
  hashedMembers: ['id', 'agentId', 'name', 'credentialId', 'publicKey', 'rpId', 'createdAt'],
  counter: 'passkeys',
  countedBy: ['agentId'],
  fixed: ['agentId', 'credentialId'],
};
