import { normaliseAgentName } from '../../agents/agent-name';
import { sampleId } from '../../openapi/sample-id';
import { WholeRequest } from '../../http/validation/dto-shape';
import { OptionalText } from '../../http/validation/text-fields';

@WholeRequest(({ comment, reason }) =>
  comment === undefined || reason === undefined
    ? []
    : [{ field: 'reason', message: 'is an alias of comment; give only one of them' }],
)
export class RejectDecisionRequest {
  @OptionalText({
    max: 200,
    description: 'Id or name of the rejecting agent; without it the holder of the API key rejects.',
    example: sampleId('agt', 2),
    normalise: normaliseAgentName,
  })
  readonly approverId?: string;

  @OptionalText({ max: 2000, mayBeBlank: true, example: 'Outside the maintenance window.' })
  readonly comment?: string;

  @OptionalText({ max: 2000, mayBeBlank: true, description: 'Alias of `comment`.' })
  readonly reason?: string;
}
