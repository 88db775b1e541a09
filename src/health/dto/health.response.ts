import { ApiProperty } from '@nestjs/swagger';

export const HEALTH_STATUSES = ['healthy', 'unhealthy'] as const;

export class HealthResponse {
  @ApiProperty({ enum: HEALTH_STATUSES, enumName: 'HealthStatus', example: 'healthy' })
  readonly status!: (typeof HEALTH_STATUSES)[number];

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly timestamp!: string;
}
