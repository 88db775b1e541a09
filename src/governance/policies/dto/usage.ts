import { ApiProperty } from '@nestjs/swagger';
import { ApiMember } from '../../../http/openapi/answer-members';
import { LARGEST_OFFSET, MOST_ROWS } from '../../../http/lists/list.query';
import { QueryInteger } from '../../../http/validation/query-fields';

export class UsageQuery {
  @QueryInteger({ min: 1, max: MOST_ROWS, description: 'Maximum number of rows. Default: 50.' })
  readonly limit?: number;

  @QueryInteger({ min: 0, max: LARGEST_OFFSET, description: 'Rows to skip.' })
  readonly offset?: number;
}

/** What is used of a limit in its current window; amounts are text. */
export class UsedLimitResponse {
  @ApiMember('The index of the limit.', { type: 'integer', example: 0 })
  readonly limit!: number;

  @ApiMember('The agent; null where those of all count together.', { type: 'string', nullable: true, example: null })
  readonly key!: string | null;

  @ApiProperty({ example: '250.5' })
  readonly used!: string;

  @ApiProperty({ example: '1000' })
  readonly max!: string;

  @ApiMember('When the next window begins.', { format: 'date-time', example: '2026-11-21T00:00:00.000Z' })
  readonly resetsAt!: string;
}

export class UsageResponse {
  @ApiProperty({ type: [UsedLimitResponse] })
  readonly data!: readonly UsedLimitResponse[];

  @ApiMember('Number of rows of the whole list, not only of this page.', { type: 'integer', minimum: 0, example: 1 })
  readonly total!: number;
}
