import { ApiParam } from '@nestjs/swagger';
import type { AnyRecordKind } from '../ledger/record-kind';
import { sampleId, sampleName } from './sample-id';

export interface RecordIdParameter {
  /** Name of the path parameter; `id` by default. */
  readonly parameter?: string;
  /** Which record of its kind the example refers to; the first by default. */
  readonly sample?: number;
}

/** Documents the path parameter with the id of a record, with an example that can be executed. */
export function ApiRecordId(
  { subjectType, idPrefix }: AnyRecordKind,
  { parameter = 'id', sample = 1 }: RecordIdParameter = {},
): MethodDecorator {
  const name = sampleName(idPrefix, sample);
  const description = `Id of the ${subjectType}.${name === undefined ? '' : ` The example stands for ${name}.`}`;
  return ApiParam({ name: parameter, description, example: sampleId(idPrefix, sample) });
}
