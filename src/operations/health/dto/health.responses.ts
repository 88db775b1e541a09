import { ApiProperty } from '@nestjs/swagger';
import { ApiCount, ApiMember } from '../../../http/openapi/answer-members';

export const HEALTH_STATUSES = ['healthy', 'unhealthy'] as const;

export class HealthResponse {
  @ApiProperty({ enum: HEALTH_STATUSES, enumName: 'HealthStatus', example: 'healthy' })
  readonly status!: (typeof HEALTH_STATUSES)[number];

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly timestamp!: string;
}

export class StatisticsResponse {
  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly entities!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly claims!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 2 })
  readonly agents!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 1 })
  readonly decisions!: number;

  @ApiCount('All versions.')
  readonly policies!: number;

  @ApiProperty({ type: 'integer', minimum: 0, example: 7 })
  readonly provenanceEntries!: number;

  @ApiMember(
    'Records of modules that were added to the service, by the name of their counter; absent if there are none.',
    { type: 'object', additionalProperties: { type: 'integer', minimum: 0 }, selfRequired: false },
  )
  readonly modules?: Readonly<Record<string, number>>;
}
