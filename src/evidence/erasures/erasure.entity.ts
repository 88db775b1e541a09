import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { ApiMember, ApiNullableTime } from '../../http/openapi/response-members';
import { sampleId } from '../../http/openapi/documentation.decorators';
import type { RecordKind } from '../../ledger/kinds/record-kind';

/** Kinds of record that can be erased. */
export const ERASABLE_TYPES = ['entity', 'decision', 'execution'] as const;
export type ErasableType = (typeof ERASABLE_TYPES)[number];

/** A record that an erasure names. */
class ErasureSubjectResponse {
  @ApiProperty({ enum: ERASABLE_TYPES, enumName: 'ErasableType', example: 'execution' })
  readonly type!: ErasableType;

  @ApiProperty({ example: sampleId('exe') })
  readonly id!: string;
}

export type ErasureSubject = ErasureSubjectResponse;

const COUNT = { type: 'integer', nullable: true, example: null } as const;

/** An order to erase the contents of records, as it is stored and as responses show it. */
@Entity('erasures')
export class Erasure {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('ers') })
  readonly id!: string;

  /** Sequence of the entry `erasure.begun`. */
  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('simple-json')
  @ApiMember('The records as the request named them.', { type: [ErasureSubjectResponse] })
  readonly subjects!: readonly ErasureSubject[];

  /** Never erased, so it must hold no personal data. */
  @Column('text')
  @ApiProperty({ example: 'Request 2026-118 of a data subject' })
  readonly reason!: string;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  /**
   * Null until everything is erased, like the following columns. Not hashed, because the entry `erasure.completed`
   * holds the same values.
   */
  @Column('text', { nullable: true })
  @ApiNullableTime('When everything was erased; until then null, as are the counts.')
  readonly completedAt!: string | null;

  @Column('integer', { nullable: true })
  @ApiMember('Entries that lost their contents.', COUNT)
  readonly entries!: number | null;

  @Column('integer', { nullable: true })
  @ApiMember('Records that were erased.', COUNT)
  readonly records!: number | null;

  @Column('integer', { nullable: true })
  @ApiMember('Entries of version 1 among them: what they held can still be guessed from the hash.', COUNT)
  readonly unsalted!: number | null;
}

/** The record kind of erasures. The hashed members are frozen. */
export const ERASURE: RecordKind<Erasure> = {
  subjectType: 'erasure',
  idPrefix: 'ers',
  table: Erasure,
  hashedMembers: ['id', 'subjects', 'reason', 'createdAt'],
  counter: 'erasures',
  isSaidInDetails: true,
  unhashedAgree: ({ completedAt, entries, records, unsalted }, { timestamp, details }) =>
    completedAt === null
      ? [entries, records, unsalted].every((count) => count === null) && !String(details).includes('"entries":')
      : completedAt === timestamp && details === JSON.stringify({ entries, records, unsalted }),
};
