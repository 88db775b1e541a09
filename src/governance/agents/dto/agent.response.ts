import { ApiProperty, OmitType } from '@nestjs/swagger';
import { type ShownAs, shownAs } from '../../../http/openapi/answer-members';
import { Agent } from '../agent.entity';

export class AgentResponse extends OmitType(Agent, ['createdSequence'] as const) {
  static readonly from: ShownAs<AgentResponse> = shownAs(AgentResponse);
}

export class AgentWithEmailResponse extends AgentResponse {
  @ApiProperty({
    ...{ type: String, nullable: true, required: false, example: 'ann@example.com' },
    description: 'For the person and for admins only: where mails go.',
  })
  readonly email?: string | null;
}
