import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { RecordKind } from '../../ledger/record-kind';

/** Kinds of record that can be erased. */
export const ERASABLE_TYPES = ['entity', 'decision', 'execution'] as const;
export type ErasableType = (typeof ERASABLE_TYPES)[number];

/** What an erasure names. */
export interface ErasureSubject {
  readonly type: ErasableType;
  readonly id: string;
}

/** What is gone, once all of it is. */
export interface ErasedCounts {
  /** Entries that lost their contents. */
  readonly entries: number;
  readonly records: number;
  /** Entries of version 1 among them: what they held can still be guessed from the hash. */
  readonly unsalted: number;
}

/** Somebody asked that the contents of records be forgotten. */
@Entity('erasures')
export class Erasure {
  @PrimaryColumn('text')
  readonly id!: string;

  /** Also the sequence of `erasure.begun`. */
  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('simple-json')
  readonly subjects!: readonly ErasureSubject[];

  /** Stays, so it must hold no personal data. */
  @Column('text')
  readonly reason!: string;

  @Column('text')
  readonly createdAt!: string;

  /** Null until all is gone, like what follows. Not hashed: `erasure.completed` says the same. */
  @Column('text', { nullable: true })
  readonly completedAt!: string | null;

  @Column('integer', { nullable: true })
  readonly entries!: number | null;

  @Column('integer', { nullable: true })
  readonly records!: number | null;

  @Column('integer', { nullable: true })
  readonly unsalted!: number | null;
}

/** How the ledger keeps erasures. The hashed members are frozen. */
export const ERASURE: RecordKind<Erasure> = {
  subjectType: 'erasure',
  idPrefix: 'ers',
  table: Erasure,
  hashedMembers: ['id', 'subjects', 'reason', 'createdAt'],
  counter: 'erasures',
  isSaidInDetails: true,
  unhashedAgree: ({ completedAt, entries, records, unsalted }, { timestamp, details }) =>
    completedAt === null
      ? [entries, records, unsalted].every((count) => count === null) && details === '{}'
      : completedAt === timestamp && details === JSON.stringify({ entries, records, unsalted }),
};
