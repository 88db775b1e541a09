import { ApiProperty, OmitType } from '@nestjs/swagger';
import { actionPatternFault } from '../../../core/values/action-pattern';
import { exactLabelFault, labelFault } from '../../../core/values/label-fault';
import { ListQuery } from '../../../http/lists/list.query';
import {
  AtLeastOneOf,
  ClearableText,
  ClearableTimestampField,
  DistinctStrings,
  OneOf,
  OptionalText,
  REMARK,
  RequiredText,
} from '../../../http/validation/fields';
import { WholeRequest } from '../../../http/validation/dto';
import { QueryOneOf, QueryText } from '../../../http/validation/query-fields';
import { AGENT_KINDS, type AgentKind, agentNameFault, normaliseAgentName } from '../agent-name';
import { Agent, AGENT_STATUSES, type AgentStatus } from '../agent.entity';
import { NOT_IN_TEAM, TEAM } from '../team';
import { type ResponseMapper, responseMapper } from '../../../http/openapi/response-members';

/** A text that names an agent by its id or its name. */
export const NAMED_AGENT = { max: 200, normalise: normaliseAgentName };

/** A filter that names an agent by its id or its name. */
export function QueryAgent(description: string): PropertyDecorator {
  return QueryText({ max: 500, description, normalise: normaliseAgentName });
}

/** Description of an agent, at creation and in an update. */
export const DESCRIPTION = {
  ...REMARK,
  description: 'What the agent is for.',
  example: 'Sends reminders of invoices.',
};

const CAPABILITIES = {
  optional: true,
  maxItems: 200,
  item: { max: 100, rule: capabilityFault },
  description:
    'Actions the agent may use, as a policy names them: exactly, by a prefix with `*`, or `*` for all. With none, it can do nothing. ' +
    'In Unicode normal form C, without control and format characters and white space at their ends.',
  example: ['send-reminder', 'read-*', 'write-off'],
};

const ROLES = {
  optional: true,
  maxItems: 50,
  item: { max: 100, rule: exactLabelFault },
  description:
    'Roles that the subjects of a policy can name as `role:<role>`. In Unicode normal form C, without control and format characters and white space at ' +
    'their ends.',
  example: ['collections'],
};

export class AgentListQuery extends ListQuery {
  @QueryText({ max: 100, description: 'Only agents with exactly this text among their capabilities.' })
  readonly capability?: string;

  @QueryText({ max: 100, description: 'Only agents with this role.' })
  readonly role?: string;

  @QueryOneOf(AGENT_STATUSES, { enumName: 'AgentStatus', description: 'Only agents with this status.' })
  readonly status?: AgentStatus;

  @QueryOneOf(AGENT_KINDS, { enumName: 'AgentKind', description: 'Only agents of this kind.' })
  readonly kind?: AgentKind;

  @QueryText({ max: TEAM.max, description: 'Only agents of this team.' })
  readonly team?: string;
}

@WholeRequest(({ kind, team }) =>
  kind === 'human' && typeof team === 'string' ? [{ field: 'team', message: NOT_IN_TEAM }] : [],
)
export class CreateAgentRequest {
  @RequiredText({
    max: 200,
    description:
      'Unique; also usable as the lookup key. Kept in Unicode normal form C. Without control characters, `/`, `*` and ' +
      'white space at its ends; not beginning with `agt_`, `agent:`, `role:` or `kind:`.',
    example: 'reminder-bot',
    normalise: normaliseAgentName,
    rule: agentNameFault,
  })
  readonly name!: string;

  @OneOf(AGENT_KINDS, {
    optional: true,
    default: 'machine',
    description: 'A person who reviews is an agent of kind `human`. It never changes.',
    example: 'machine',
  })
  readonly kind?: AgentKind;

  @OptionalText({ ...DESCRIPTION, default: '' })
  readonly description?: string;

  @DistinctStrings({ ...CAPABILITIES, default: [] })
  readonly capabilities?: readonly string[];

  @DistinctStrings({ ...ROLES, default: [] })
  readonly roles?: readonly string[];

  @OptionalText({
    ...TEAM,
    description: 'For machines only: the team whose policies apply to it. Default: that of the key; without one, none.',
  })
  readonly team?: string | null;
}

/** Absent members stay unchanged; a list is replaced as a whole. */
@AtLeastOneOf('description', 'capabilities', 'roles', 'observeUntil', 'slackId', 'directory', 'team')
export class UpdateAgentRequest {
  @OptionalText(DESCRIPTION)
  readonly description?: string;

  @DistinctStrings(CAPABILITIES)
  readonly capabilities?: readonly string[];

  @DistinctStrings(ROLES)
  readonly roles?: readonly string[];

  @ClearableTimestampField({
    description:
      'For machines only, with the scope `admin`: until this time, at most 30 days ahead, the agent is also ' +
      'authorised to do what no policy allows, which is marked as `observed`. null ends it.',
  })
  readonly observeUntil?: string | null;

  @ClearableText({
    max: 100,
    rule: slackIdFault,
    description:
      "For people only, with the scope `admin`: the person's id in Slack, `<team>/<user>`, which no other agent may " +
      'have. null removes it.',
  })
  readonly slackId?: string | null;

  @ClearableText({
    max: 200,
    rule: labelFault,
    description:
      "For people only, with the scope `admin`: the person's id in the directory (`externalId`), which no other agent " +
      'may have. From then on the directory manages the person. null takes back one whom the directory has removed.',
  })
  readonly directory?: string | null;

  @ClearableText({
    ...TEAM,
    description:
      'For machines only, with the scope `admin`: its team, to which what it did is then disclosed. null: none.',
  })
  readonly team?: string | null;
}

export class SetEmailRequest {
  @RequiredText({ max: 254, rule: emailFault, description: 'An address.', example: 'ann@example.com' })
  readonly email!: string;
}

export class ChangeStatusRequest {
  @OptionalText({
    ...REMARK,
    description: 'Why; kept in the audit entry.',
    example: 'Unusual activity since this morning.',
  })
  readonly reason?: string;
}

const EMAIL = /^[\x21\x23-\x27\x2a\x2b\x2d-\x39\x3d\x3f\x41-\x5a\x5e-\x7e]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/;

export function emailFault(text: string): string | undefined {
  return EMAIL.test(text) ? undefined : 'must be an address, such as ann@example.com';
}

function slackIdFault(text: string): string | undefined {
  return /^[A-Z0-9]+\/[A-Z0-9]+$/.test(text) ? undefined : 'must be <team>/<user>, such as T024BE7LD/U024BE7LH';
}

function capabilityFault(text: string): string | undefined {
  return labelFault(text) ?? actionPatternFault(text);
}

export class AgentResponse extends OmitType(Agent, ['createdSequence'] as const) {
  static readonly from: ResponseMapper<AgentResponse> = responseMapper(AgentResponse);
}

export class AgentWithEmailResponse extends AgentResponse {
  @ApiProperty({
    type: String,
    nullable: true,
    required: false,
    example: 'ann@example.com',
    description: 'Where mails go; shown only to the person and to callers with `admin`.',
  })
  readonly email?: string | null;
}
