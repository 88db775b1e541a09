import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** That a database was taken into service although it did not extend the checkpoint kept of it: the operator said so. */
@Entity('restorations')
export class Restoration {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  /** Entries of the database as it was found. */
  @Column('bigint')
  readonly acceptedSize!: number;

  @Column('text')
  readonly acceptedRootHash!: string;

  /** Of the checkpoint that was given up. */
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
