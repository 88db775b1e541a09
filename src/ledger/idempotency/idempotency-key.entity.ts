import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** What a write with an `Idempotency-Key` came to. Written with its effect; nothing is hashed here. */
@Entity('idempotency_keys')
export class IdempotencyKey {
  /** SHA-256 of the request's scope and key, and of the write's place among those of the request. */
  @PrimaryColumn('text')
  readonly id!: string;

  /** SHA-256 of what was asked. */
  @Column('text')
  readonly contentHash!: string;

  /** JSON: see kept-answer.ts. */
  @Column('text')
  readonly answer!: string;

  @Index()
  @Column('text')
  readonly createdAt!: string;
}
