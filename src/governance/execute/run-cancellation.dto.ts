import { NAMED_AGENT } from '../agents/dto/agent.dto';
import { ApiMember } from '../../http/openapi/response-members';
import { OptionalText, REMARK, RequiredText } from '../../http/validation/fields';
import { RUN } from '../permissions/principals';

export class CancelRunRequest {
  @OptionalText({
    ...NAMED_AGENT,
    description: 'Id or name of the agent. A caller that is bound to an agent may leave it out.',
    example: 'reminder-bot',
  })
  readonly agentId?: string;

  @RequiredText({ ...RUN, description: 'The conversation or task.', example: 'conversation-4710' })
  readonly run!: string;

  @OptionalText({ ...REMARK, description: 'Why; it is recorded with each.', example: 'The conversation has ended.' })
  readonly reason?: string;
}

export class RunCancellationResponse {
  @ApiMember('The number of executions that were cancelled.', { type: 'integer', example: 0 })
  readonly cancelled!: number;

  @ApiMember('True if the run has more of them: send the request again.', { type: Boolean, example: false })
  readonly more!: boolean;
}
