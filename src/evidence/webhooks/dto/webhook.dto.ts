import { ApiProperty, OmitType, PickType } from '@nestjs/swagger';
import { normaliseAgentName } from '../../../governance/agents/agent-name';
import { actionPatternOrAnyFault, MAX_PATTERN_CHARACTERS } from '../../events/event-filter';
import { ConfiguredRequest, type ConfiguredRule } from '../../../http/validation/dto';
import {
  AtLeastOneOf,
  BooleanField,
  DistinctStrings,
  IntegerField,
  OneOf,
  OptionalText,
  REMARK,
  RequiredText,
} from '../../../http/validation/fields';
import { textFault } from '../../../http/validation/shapes';
import {
  actionsFault,
  isChat,
  MESSAGE_DETAILS,
  type MessageDetail,
  Webhook,
  WEBHOOK_FORMATS,
  type WebhookFormat,
} from '../webhook.entity';
import { subjectFault } from '../../../governance/policies/patterns/subjects';
import { DeliveryPosition } from '../delivery/delivery-position-store';
import { refusedTargetFault, webhookUrlFault } from '../webhook-url';
import { ApiMember, type ResponseMapper, responseMapper } from '../../../http/openapi/response-members';

const URL = {
  max: 2_048,
  rule: webhookUrlFault,
  description:
    'URL to which audit entries are delivered: https, without user info and fragment, at an address of the public internet.',
  example: 'https://hooks.example.com/governance',
};

const ACTIONS = {
  minItems: 1,
  maxItems: 50,
  item: { max: MAX_PATTERN_CHARACTERS, rule: actionPatternOrAnyFault },
  description: 'Actions that are delivered: each an action, a family of them such as `decision.*`, or `*` for all.',
  example: ['decision.*', 'execution.denied'],
};

const AGENT_ID = {
  max: 500,
  normalise: normaliseAgentName,
  description: 'Id or name of an agent: only its entries are delivered.',
  example: 'reminder-bot',
};

const DESCRIPTION = {
  ...REMARK,
  description: 'What the endpoint is for.',
  example: 'Informs the finance channel of decisions.',
};

/** The rule of the member reports a URL that is not valid. */
const permittedTarget: ConfiguredRule = ({ url }, configuration) => {
  if (typeof url !== 'string' || textFault(url, URL) !== undefined) return [];
  const message = refusedTargetFault(url, configuration);
  return message === undefined ? [] : [{ field: 'url', message }];
};

@ConfiguredRequest(permittedTarget)
@ConfiguredRequest(({ format, detail, actions, buttons, approvers }, { slackSigningSecret }) => {
  const fault = Array.isArray(actions) ? actionsFault(format, actions) : undefined;
  const isSaid = isChat(format) || detail === undefined || detail === 'full';
  const mayHaveButtons = format === 'slack' && detail !== 'reference';
  return [
    ...(fault === undefined ? [] : [{ field: 'actions', message: fault }]),
    ...(isSaid ? [] : [{ field: 'detail', message: 'must be full, but for the formats slack and teams' }]),
    ...(isChat(format) || !Array.isArray(approvers)
      ? []
      : [{ field: 'approvers', message: 'must be left out, but for the formats slack and teams' }]),
    ...(buttons !== true || mayHaveButtons
      ? []
      : [{ field: 'buttons', message: 'must be false, but for the format slack and the detail full' }]),
    ...(buttons !== true || slackSigningSecret !== null
      ? []
      : [{ field: 'buttons', message: 'must be false, since SLACK_SIGNING_SECRET is not set' }]),
  ];
})
export class CreateWebhookRequest {
  @RequiredText(URL)
  readonly url!: string;

  @DistinctStrings(ACTIONS)
  readonly actions!: string[];

  @OptionalText(AGENT_ID)
  readonly agentId?: string;

  @OptionalText(DESCRIPTION)
  readonly description?: string;

  @OneOf(WEBHOOK_FORMATS, {
    optional: true,
    default: 'event',
    enumName: 'WebhookFormat',
    example: 'event',
    description:
      '`slack` and `teams`: messages about decisions, for `decision.*` actions only, each named; `ocsf`: events of the Open Cybersecurity ' +
      'Schema Framework. It never changes.',
  })
  readonly format?: WebhookFormat;

  @OneOf(MESSAGE_DETAILS, {
    optional: true,
    default: 'full',
    enumName: 'MessageDetail',
    example: 'full',
    description: '`reference`: messages name the agent, the kind of action, the deadline and the link; no parameters.',
  })
  readonly detail?: MessageDetail;

  @BooleanField({
    optional: true,
    default: false,
    example: false,
    description:
      'With `slack`: people approve and reject in the message. Requires SLACK_SIGNING_SECRET, and the `slackId` of ' +
      'each person.',
  })
  readonly buttons?: boolean;

  @DistinctStrings({
    minItems: 1,
    maxItems: 100,
    item: { max: 500, rule: subjectFault },
    optional: true,
    description:
      'With `slack` and `teams`: only decisions with a group of approvers that names one of these subjects, compared as text.',
  })
  readonly approvers?: string[];
}

/** Absent members stay unchanged; a list is replaced as a whole. */
@AtLeastOneOf('url', 'actions', 'agentId', 'description')
@ConfiguredRequest(permittedTarget)
export class UpdateWebhookRequest {
  @OptionalText(URL)
  readonly url?: string;

  @DistinctStrings({ ...ACTIONS, optional: true })
  readonly actions?: string[];

  @OptionalText(AGENT_ID)
  readonly agentId?: string;

  @OptionalText(DESCRIPTION)
  readonly description?: string;
}

export class ReplayWebhookRequest {
  @IntegerField({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    description: 'Sequence after which deliveries start again; 0: with the first entry.',
    example: 0,
  })
  readonly after!: number;
}

export class WebhookResponse extends OmitType(Webhook, [
  'createdSequence',
  'target',
  'secretHash',
  'secrets',
] as const) {
  static readonly from: ResponseMapper<WebhookResponse> = responseMapper(WebhookResponse);
}

export class WebhookWithSecretResponse extends WebhookResponse {
  @ApiMember(
    'Secret with which deliveries are signed, according to Standard Webhooks. It is returned only in this answer.',
    { example: `whsec_${'x'.repeat(43)}=` },
  )
  readonly secret!: string;

  static readonly withSecret: ResponseMapper<WebhookWithSecretResponse> = responseMapper(WebhookWithSecretResponse);
}

class WebhookDeliveryResponse extends PickType(DeliveryPosition, [
  ...(['sequence', 'lastAttemptAt', 'lastStatus', 'nextAttemptAt'] as const),
] as const) {
  static readonly from: ResponseMapper<WebhookDeliveryResponse> = responseMapper(WebhookDeliveryResponse);
}

export class WebhookWithDeliveryResponse extends WebhookResponse {
  @ApiMember('How far deliveries have come; not part of the record.', { type: WebhookDeliveryResponse })
  readonly delivery!: WebhookDeliveryResponse;

  static withDelivery({ delivery, ...webhook }: WebhookWithDeliveryResponse): WebhookWithDeliveryResponse {
    return { ...WebhookResponse.from(webhook), delivery: WebhookDeliveryResponse.from(delivery) };
  }
}

export class WebhookTestResponse {
  @ApiMember('Null: there was no answer in time.', { type: 'integer', nullable: true, example: null })
  readonly status!: number | null;

  @ApiProperty({ type: 'integer', minimum: 0, example: 12 })
  readonly durationMs!: number;
}
