import { OmitType } from '@nestjs/swagger';
import { type ResponseMapper, responseMapper } from '../../../http/openapi/response-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { EachNamedOnce, ListOf, OneOf, RequiredText } from '../../../http/validation/fields';
import { ERASABLE_TYPES, type ErasableType, Erasure } from '../erasure.entity';

const MAX_SUBJECTS = 100;

class ErasureSubjectRequest {
  @OneOf(ERASABLE_TYPES, { enumName: 'ErasableType', description: 'The kind of record.', example: 'entity' })
  readonly type!: ErasableType;

  @RequiredText({ max: 100, description: 'Its id.', example: sampleId('ent') })
  readonly id!: string;
}

@EachNamedOnce('subjects', ({ type, id }) => `${String(type)} ${String(id)}`)
export class CreateErasureRequest {
  @ListOf(ErasureSubjectRequest, {
    maxItems: MAX_SUBJECTS,
    description:
      'The records to erase, at least one. An entity is erased with its claims, an execution with its decision, and ' +
      'a decision with its execution.',
    example: [{ type: 'entity', id: sampleId('ent') }],
  })
  readonly subjects!: ErasureSubjectRequest[];

  @RequiredText({
    max: 2000,
    description: 'Recorded in the audit trail and never erased, so it must not contain personal data.',
    example: 'Request 2026-118 of a data subject',
  })
  readonly reason!: string;
}

export class ErasureResponse extends OmitType(Erasure, ['createdSequence'] as const) {
  static readonly from: ResponseMapper<ErasureResponse> = responseMapper(ErasureResponse);
}
