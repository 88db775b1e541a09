import { ApiProperty } from '@nestjs/swagger';
import { EXAMPLE_HASH } from './provenance-entry.response';

/** Where the chain ended when an export began. */
export class ChainEnd {
  @ApiProperty({
    type: 'integer',
    minimum: 0,
    example: 1,
    description: 'Sequence of the head; 0 where there is no entry.',
  })
  readonly sequence!: number;

  @ApiProperty({ example: EXAMPLE_HASH, description: '`hash` of the head; 64 zeros where there is no entry.' })
  readonly hash!: string;
}

/** The last line of an export: without it, an export is not whole. */
export class ExportEndResponse {
  @ApiProperty({ type: ChainEnd })
  readonly end!: ChainEnd;

  static of(this: void, end: ChainEnd): ExportEndResponse {
    return { end };
  }
}
