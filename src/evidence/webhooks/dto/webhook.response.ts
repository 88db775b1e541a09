import { ApiProperty } from '@nestjs/swagger';
import { ApiChoice, ApiMember, ApiNullableText, ApiNullableTime } from '../../../http/openapi/answer-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import {
  MESSAGE_DETAILS,
  type MessageDetail,
  type ShownWebhook,
  WEBHOOK_FORMATS,
  WEBHOOK_STATUSES,
  type WebhookFormat,
  type WebhookStatus,
} from '../webhook.entity';
import type { WebhookWithProgress, WebhookWithSecret } from '../webhooks.service';

export class WebhookResponse {
  @ApiProperty({ example: sampleId('whk') })
  readonly id!: string;

  @ApiMember('Of the formats `slack` and `teams` only the origin, but for the answer that creates it.', {
    example: 'https://hooks.example.com/governance',
  })
  readonly url!: string;

  @ApiProperty({ type: [String], example: ['decision.*', 'execution.denied'] })
  readonly actions!: readonly string[];

  @ApiChoice(['WebhookFormat', WEBHOOK_FORMATS], 'event', 'What is delivered.')
  readonly format!: WebhookFormat;

  @ApiChoice(['MessageDetail', MESSAGE_DETAILS], 'full', 'How much messages say.')
  readonly detail!: MessageDetail;

  @ApiMember('Whether its messages have buttons.', { example: false })
  readonly buttons!: boolean;

  @ApiNullableText('Null: entries of all agents.', sampleId('agt'))
  readonly agentId!: string | null;

  @ApiProperty({ example: 'Informs the finance channel of decisions.' })
  readonly description!: string;

  @ApiChoice(
    ['WebhookStatus', WEBHOOK_STATUSES],
    'active',
    '`failing`: not delivered to until it is resumed or replayed.',
  )
  readonly status!: WebhookStatus;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly updatedAt!: string;

  static from(this: void, row: ShownWebhook): WebhookResponse {
    const { id, url, format, detail, buttons, actions, agentId, description, status, createdAt, updatedAt } = row;
    return { id, url, format, detail, buttons, actions, agentId, description, status, createdAt, updatedAt };
  }
}

export class WebhookWithSecretResponse extends WebhookResponse {
  @ApiMember(
    'Secret with which deliveries are signed, according to Standard Webhooks. It is returned only in this answer.',
    { example: `whsec_${'x'.repeat(43)}=` },
  )
  readonly secret!: string;

  static of({ webhook, secret }: WebhookWithSecret): WebhookWithSecretResponse {
    return { ...WebhookResponse.from(webhook), secret };
  }
}

export class WebhookDeliveryResponse {
  @ApiMember('Sequence of the last entry that no longer needs delivery.', { type: 'integer', example: 1 })
  readonly sequence!: number;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly lastAttemptAt!: string | null;

  @ApiMember('Null: there was no answer.', { type: 'integer', nullable: true, example: null })
  readonly lastStatus!: number | null;

  @ApiNullableTime('Null: no retry is pending.')
  readonly nextAttemptAt!: string | null;
}

export class WebhookWithDeliveryResponse extends WebhookResponse {
  @ApiMember('How far deliveries have come; not part of the record.', { type: WebhookDeliveryResponse })
  readonly delivery!: WebhookDeliveryResponse;

  static of({ webhook, progress }: WebhookWithProgress): WebhookWithDeliveryResponse {
    const { sequence, lastAttemptAt, lastStatus, nextAttemptAt } = progress;
    return { ...WebhookResponse.from(webhook), delivery: { sequence, lastAttemptAt, lastStatus, nextAttemptAt } };
  }
}

export class WebhookTestResponse {
  @ApiMember('Null: there was no answer in time.', { type: 'integer', nullable: true, example: null })
  readonly status!: number | null;

  @ApiProperty({ type: 'integer', minimum: 0, example: 12 })
  readonly durationMs!: number;
}
