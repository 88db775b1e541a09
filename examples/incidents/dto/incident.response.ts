import { ApiProperty } from '@nestjs/swagger';
import { sampleId } from '../../http/openapi/documentation.decorators';
import { SEVERITIES, type Incident, type Severity } from '../incident.entity';

export class IncidentResponse {
  @ApiProperty({ example: sampleId('inc') })
  readonly id!: string;

  @ApiProperty({ example: 'INC-1' })
  readonly reference!: string;

  @ApiProperty({ example: 'Invoices were sent twice' })
  readonly title!: string;

  @ApiProperty({ enum: SEVERITIES, enumName: 'IncidentSeverity', example: 'major' })
  readonly severity!: Severity;

  @ApiProperty({ type: [String], example: ['billing'] })
  readonly labels!: readonly string[];

  @ApiProperty({ type: 'integer', example: 0 })
  readonly affected!: number;

  @ApiProperty({ type: String, nullable: true, example: null })
  readonly entityId!: string | null;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly closedAt!: string | null;

  static from(this: void, row: Incident): IncidentResponse {
    const { id, reference, title, severity, labels, affected, entityId, createdAt, closedAt } = row;
    return { id, reference, title, severity, labels, affected, entityId, createdAt, closedAt };
  }
}
