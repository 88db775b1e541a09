import { JsonField } from '../../http/validation/body-fields';
import { WholeRequest } from '../../http/validation/dto-shape';
import { OneOf, OptionalText } from '../../http/validation/text-fields';
import type { JsonValue } from '../../json/json-value';

const REPORTED_OUTCOMES = ['executed', 'failed'] as const;

@WholeRequest(({ outcome, result, failureReason }) => [
  ...(outcome === 'failed' && result !== undefined
    ? [{ field: 'result', message: 'belongs to the outcome "executed"; give the cause of a failure in failureReason' }]
    : []),
  ...(outcome === 'executed' && failureReason !== undefined
    ? [{ field: 'failureReason', message: 'belongs to the outcome "failed"' }]
    : []),
])
export class ReportResultRequest {
  @OneOf(REPORTED_OUTCOMES, {
    enumName: 'ReportedOutcome',
    description: 'The outcome of the action.',
    example: 'executed',
  })
  readonly outcome!: (typeof REPORTED_OUTCOMES)[number];

  @JsonField({
    description: 'The result: any JSON value. With `executed` only.',
    example: { sent: 1 },
  })
  readonly result?: JsonValue;

  @OptionalText({ max: 2000, description: 'A sentence. With `failed` only.' })
  readonly failureReason?: string;
}
