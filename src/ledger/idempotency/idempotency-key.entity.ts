import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The result of a write with an `Idempotency-Key`. Written with its effect; nothing is hashed here. */
@Entity('idempotency_keys')
export class IdempotencyKey {
  /** SHA-256 of the request's scope and key, and of the write's position among those of the request. */
  @PrimaryColumn('text')
  readonly id!: string;

  /** SHA-256 of the request's content. */
  @Column('text')
  readonly contentHash!: string;

  /** JSON: see idempotency-store.ts. */
  @Column('text')
  readonly answer!: string;

  @Index()
  @Column('text')
  readonly createdAt!: string;
}
