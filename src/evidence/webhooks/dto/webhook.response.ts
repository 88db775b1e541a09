import { ApiProperty, OmitType } from '@nestjs/swagger';
import { ApiMember, ApiNullableTime, type ShownAs, shownAs } from '../../../http/openapi/answer-members';
import { Webhook } from '../webhook.entity';

export class WebhookResponse extends OmitType(Webhook, [
  'createdSequence',
  'target',
  'secretHash',
  'secrets',
] as const) {
  static readonly from: ShownAs<WebhookResponse> = shownAs(WebhookResponse);
}

export class WebhookWithSecretResponse extends WebhookResponse {
  @ApiMember(
    'Secret with which deliveries are signed, according to Standard Webhooks. It is returned only in this answer.',
    { example: `whsec_${'x'.repeat(43)}=` },
  )
  readonly secret!: string;

  static readonly of: ShownAs<WebhookWithSecretResponse> = shownAs(WebhookWithSecretResponse);
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

  static readonly from: ShownAs<WebhookDeliveryResponse> = shownAs(WebhookDeliveryResponse);
}

export class WebhookWithDeliveryResponse extends WebhookResponse {
  @ApiMember('How far deliveries have come; not part of the record.', { type: WebhookDeliveryResponse })
  readonly delivery!: WebhookDeliveryResponse;

  static of({ delivery, ...webhook }: WebhookWithDeliveryResponse): WebhookWithDeliveryResponse {
    return { ...WebhookResponse.from(webhook), delivery: WebhookDeliveryResponse.from(delivery) };
  }
}

export class WebhookTestResponse {
  @ApiMember('Null: there was no answer in time.', { type: 'integer', nullable: true, example: null })
  readonly status!: number | null;

  @ApiProperty({ type: 'integer', minimum: 0, example: 12 })
  readonly durationMs!: number;
}
