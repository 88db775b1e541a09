import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Records that the operator accepted a database although it did not extend its kept checkpoint. */
@Entity('restorations')
export class Restoration {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  /** Number of entries in the database as it was found. */
  @Column('bigint')
  readonly acceptedSize!: number;

  @Column('text')
  readonly acceptedRootHash!: string;

  /** Size of the checkpoint that was given up. */
  @Column('bigint')
  readonly givenUpSize!: number;

  @Column('text')
  readonly givenUpRootHash!: string;

  /** The checkpoint itself, with its signature. */
  @Column('text')
  readonly givenUpCheckpoint!: string;

  @Column('text')
  readonly createdAt!: string;
}
