import { ApiProperty } from '@nestjs/swagger';
import { sampleId } from '../../openapi/sample-id';
import { RECORD_FAULTS, type RecordFault } from '../../verification/state-check';
import { DERIVED_DATA, type InvalidDerived } from '../../verification/state-findings';

export class InvalidRecordResponse {
  @ApiProperty({ example: 'entity' })
  readonly subjectType!: string;

  @ApiProperty({ example: sampleId('ent') })
  readonly subjectId!: string;

  @ApiProperty({
    enum: RECORD_FAULTS,
    enumName: 'RecordFault',
    example: 'changed',
    description:
      '`changed`: it is not as its last entry left it. `added`: no entry created it, or the last one removed it. ' +
      '`missing`: according to its last entry it should exist.',
  })
  readonly fault!: RecordFault;
}

export class InvalidDerivedResponse {
  @ApiProperty({
    enum: DERIVED_DATA,
    enumName: 'DerivedData',
    example: 'counter',
    description:
      '`counter`: a total. `listItems`: what filters find a record by. `head`: the clock, the last identifier, or the mark with ' +
      'which processes follow one another. `table`: something else is in its place, or hides its rows.',
  })
  readonly data!: InvalidDerived['data'];

  @ApiProperty({
    example: 'entities:type:service',
    description: 'Of the counter, the id of the record, the column of the head record, or the table.',
  })
  readonly name!: string;
}
