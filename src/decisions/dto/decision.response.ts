import { ApiProperty } from '@nestjs/swagger';
import { RISK_LEVELS, type RiskLevel } from '../../config/configuration';
import { sampleId } from '../../docs/sample-id';
import type { JsonObject } from '../../json/json-value';
import { DECISION_STATUSES, VERDICTS, type Decision, type DecisionStatus, type Verdict } from '../decision.entity';

export class ReviewResponse {
  @ApiProperty({
    type: String,
    nullable: true,
    example: sampleId('agt', 2),
    description: 'Null when the holder of the API key rejected.',
  })
  readonly approverId!: string | null;

  @ApiProperty({ enum: VERDICTS, example: 'approve' })
  readonly verdict!: Verdict;

  @ApiProperty({ type: String, nullable: true, example: 'Checked against the change calendar.' })
  readonly comment!: string | null;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:21:40.002Z' })
  readonly createdAt!: string;
}

export class DecisionResponse {
  @ApiProperty({ example: sampleId('dec') })
  readonly id!: string;

  @ApiProperty({ example: 'deployment' })
  readonly type!: string;

  @ApiProperty({ example: 'Deploy release 4.2 of the payment gateway' })
  readonly title!: string;

  @ApiProperty({ example: 'Rolls out the new fraud checks.' })
  readonly description!: string;

  @ApiProperty({ type: 'object', additionalProperties: true, example: { change: 'CHG-1042' } })
  readonly context!: JsonObject;

  @ApiProperty({ example: sampleId('agt') })
  readonly proposedBy!: string;

  @ApiProperty({ enum: RISK_LEVELS, example: 'high' })
  readonly riskLevel!: RiskLevel;

  @ApiProperty({ enum: DECISION_STATUSES, example: 'proposed' })
  readonly status!: DecisionStatus;

  @ApiProperty({ type: 'integer', minimum: 1, example: 1, description: 'Fixed when the decision was proposed.' })
  readonly requiredApprovals!: number;

  @ApiProperty({ type: [ReviewResponse] })
  readonly reviews!: readonly ReviewResponse[];

  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly expiresAt!: string | null;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly updatedAt!: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly resolvedAt!: string | null;

  static from(this: void, row: Decision): DecisionResponse {
    const { id, type, title, description, context, proposedBy, riskLevel, status, requiredApprovals, reviews } = row;
    const { expiresAt, createdAt, updatedAt, resolvedAt } = row;
    return {
      id,
      type,
      title,
      description,
      context,
      proposedBy,
      riskLevel,
      status,
      requiredApprovals,
      reviews,
      expiresAt,
      createdAt,
      updatedAt,
      resolvedAt,
    };
  }
}
