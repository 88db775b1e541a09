import { ApiProperty } from '@nestjs/swagger';
import { ApiMember, ApiNullableTime } from '../../../http/openapi/answer-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { WholeRequest } from '../../../http/validation/dto';
import { ListOf, OneOf, RequiredText } from '../../../http/validation/fields';
import type { FieldFault } from '../../../core/errors/domain-error';
import { ERASABLE_TYPES, type ErasableType, type Erasure } from '../erasure.entity';

const MOST_SUBJECTS = 100;

export class ErasureSubjectRequest {
  @OneOf(ERASABLE_TYPES, { enumName: 'ErasableType', description: 'The kind of record.', example: 'entity' })
  readonly type!: ErasableType;

  @RequiredText({ max: 100, description: 'Its id.', example: sampleId('ent') })
  readonly id!: string;
}

@WholeRequest(({ subjects }) => (Array.isArray(subjects) ? subjectFaults(subjects) : []))
export class CreateErasureRequest {
  @ListOf(ErasureSubjectRequest, {
    maxItems: MOST_SUBJECTS,
    description:
      'What is to be forgotten, at least one. An entity goes with its claims, an execution with its decision, and a decision with ' +
      'its execution.',
    example: [{ type: 'entity', id: sampleId('ent') }],
  })
  readonly subjects!: ErasureSubjectRequest[];

  @RequiredText({
    max: 2000,
    description: 'Goes on record and stays there, so it must hold no personal data.',
    example: 'Request 2026-118 of a data subject',
  })
  readonly reason!: string;
}

function subjectFaults(subjects: readonly unknown[]): FieldFault[] {
  if (subjects.length === 0) return [{ field: 'subjects', message: 'must have at least one item' }];
  const seen = new Set<string>();
  return subjects.flatMap((subject, index) => {
    const { type, id } = (subject ?? {}) as Partial<ErasureSubjectRequest>;
    const name = `${String(type)} ${String(id)}`;
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    return [{ field: `subjects[${index}]`, message: 'must be named once' }];
  });
}

export class ErasureSubjectResponse {
  @ApiProperty({ enum: ERASABLE_TYPES, enumName: 'ErasableType', example: 'execution' })
  readonly type!: ErasableType;

  @ApiProperty({ example: sampleId('exe') })
  readonly id!: string;
}

export class ErasureResponse {
  @ApiProperty({ example: sampleId('ers') })
  readonly id!: string;

  @ApiMember('As they were named.', { type: [ErasureSubjectResponse] })
  readonly subjects!: readonly ErasureSubjectResponse[];

  @ApiProperty({ example: 'Request 2026-118 of a data subject' })
  readonly reason!: string;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @ApiNullableTime('When all of it was gone; null, as are the counts, until then.')
  readonly completedAt!: string | null;

  @ApiMember('Entries that lost their contents.', { type: 'integer', nullable: true, example: null })
  readonly entries!: number | null;

  @ApiMember('Records that were erased.', { type: 'integer', nullable: true, example: null })
  readonly records!: number | null;

  @ApiMember('Entries of version 1 among them: what they held can still be guessed from the hash.', {
    type: 'integer',
    nullable: true,
    example: null,
  })
  readonly unsalted!: number | null;

  static from(this: void, erasure: Erasure): ErasureResponse {
    const { id, subjects, reason, createdAt, completedAt, entries, records, unsalted } = erasure;
    return { id, subjects, reason, createdAt, completedAt, entries, records, unsalted };
  }
}
