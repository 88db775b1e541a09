import { DistinctStrings, IntegerField, OneOf, OptionalText, RequiredText } from '../../http/validation/fields';
import { SEVERITIES, type Severity } from '../incident.entity';

export class ReportIncidentRequest {
  @RequiredText({ max: 40, description: 'The number it has elsewhere, given once.', example: 'INC-1' })
  readonly reference!: string;

  @RequiredText({ max: 200, description: 'What went wrong.', example: 'Invoices were sent twice' })
  readonly title!: string;

  @OneOf(SEVERITIES, { enumName: 'IncidentSeverity', example: 'major' })
  readonly severity!: Severity;

  @DistinctStrings({ maxItems: 10, item: { max: 40 }, optional: true, default: [], example: ['billing'] })
  readonly labels?: string[];

  @IntegerField({ min: 0, max: 2_000_000_000, optional: true, default: 0, description: 'Records that it spoilt.' })
  readonly affected?: number;

  @OptionalText({ max: 64, description: 'The entity that it happened to.' })
  readonly entityId?: string;
}
