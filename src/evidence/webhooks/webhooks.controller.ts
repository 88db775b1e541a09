import { Body, Controller, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiTags } from '@nestjs/swagger';
import { Answers, AnswersNothing, ApiRoute, shownMembers } from '../../http/openapi/response-members';
import { ApiErrors, NeedsSecondPerson, RequiresScope, SetRouteMetadata } from '../../http/request/routes';
import { ClientSignal } from '../../http/responses/response-end';
import { ApiList } from '../../http/lists/api-list.decorator';
import { ListQuery } from '../../http/lists/list.query';
import { type ListAnswer, Lists } from '../../http/lists/lists';
import { Caller } from '../../http/input/caller.decorator';
import { ApiExamples, ApiRecordId } from '../../http/openapi/documentation.decorators';
import {
  CreateWebhookRequest,
  ReplayWebhookRequest,
  UpdateWebhookRequest,
  WebhookResponse,
  WebhookTestResponse,
  WebhookWithDeliveryResponse,
  WebhookWithSecretResponse,
} from './dto/webhook.dto';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { JsonObject } from '../../core/json/json-value';
import { type Webhook, WEBHOOK } from './webhook.entity';
import { WebhooksService } from './webhooks.service';

@ApiTags('Events')
@RequiresScope('admin')
@SetRouteMetadata({ refusesRepeatedNames: true })
@Controller('webhooks')
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly records: RecordReader,
    private readonly lists: Lists,
  ) {}

  @Get()
  @ApiRoute('List webhooks', 'Includes those that are failing.')
  @ApiList(WebhookResponse, 'Webhooks in order of creation.')
  async list(@ClientSignal() signal: AbortSignal, @Query() query: ListQuery): Promise<ListAnswer<WebhookResponse>> {
    const list = await this.lists.open('webhooks', query, { limit: 50, order: 'asc' }, signal);
    const page = await this.records.shownPage(WEBHOOK, shownMembers(WebhookResponse), list.request([]));
    return list.answerShown(page, WebhookResponse.from);
  }

  @Post()
  @SetRouteMetadata({ answersSecret: true })
  @NeedsSecondPerson({
    summary: (_input, { url }: Webhook) => `Create a webhook to ${new URL(url).origin}`,
    visibleBody: withStoredUrl,
  })
  @ApiRoute(
    'Create a webhook',
    'Audit entries after its creation are delivered to it in order, signed according to Standard Webhooks, until each is confirmed ' +
      'with a 2xx status. The secret is returned only in this answer.',
  )
  @ApiExamples({ 'one to keep': {}, 'one to delete': { description: 'Was tried out.' } })
  @ApiCreatedResponse({ type: WebhookWithSecretResponse, description: 'The webhook and its secret.' })
  @ApiErrors('CONFLICT')
  async create(@Caller() caller: Caller, @Body() body: CreateWebhookRequest): Promise<WebhookWithSecretResponse> {
    return WebhookWithSecretResponse.withSecret(await this.webhooks.create(caller, body));
  }

  @Get(':id')
  @ApiRoute('Read a webhook', 'Includes how far its deliveries have come.')
  @ApiRecordId(WEBHOOK)
  @Answers({ type: WebhookWithDeliveryResponse, description: 'The webhook, without its secret.' })
  async get(@Param('id') id: string): Promise<WebhookWithDeliveryResponse> {
    return WebhookWithDeliveryResponse.withDelivery(await this.webhooks.get(id));
  }

  @Patch(':id')
  @NeedsSecondPerson({
    summary: ({ params, body }) => `Change ${Object.keys(body).sort().join(', ')} of the webhook ${params['id']}`,
    visibleBody: withStoredUrl,
    canWait: true,
  })
  @ApiRoute(
    'Change a webhook',
    'Its deliveries continue from the entry they have reached. Other `actions` or another `agentId` apply to the entries that follow.',
  )
  @ApiRecordId(WEBHOOK)
  @Answers({ type: WebhookResponse, description: 'The webhook.' })
  async update(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() body: UpdateWebhookRequest,
  ): Promise<WebhookResponse> {
    return WebhookResponse.from(await this.webhooks.update(caller, id, body));
  }

  @Post(':id/test')
  @SetRouteMetadata({ ignoresIdempotencyKey: true })
  @ApiRoute('Try a webhook', 'Delivers one `webhook.test` event; its result changes nothing.')
  @ApiRecordId(WEBHOOK)
  @Answers({ type: WebhookTestResponse, description: 'What the endpoint answered.' })
  test(@Caller() caller: Caller, @Param('id') id: string): Promise<WebhookTestResponse> {
    return this.webhooks.test(caller, id);
  }

  @Post(':id/rotate-secret')
  @SetRouteMetadata({ answersSecret: true })
  @NeedsSecondPerson({ summary: ({ params }) => `Give the webhook ${params['id']} a new secret` })
  @ApiRoute(
    'Give a webhook a new secret',
    'For 24 hours, deliveries are also signed with the previous secret. The new one is returned only in this answer.',
  )
  @ApiRecordId(WEBHOOK)
  @Answers({ type: WebhookWithSecretResponse, description: 'The webhook and its new secret.' })
  async rotateSecret(@Caller() caller: Caller, @Param('id') id: string): Promise<WebhookWithSecretResponse> {
    return WebhookWithSecretResponse.withSecret(await this.webhooks.rotateSecret(caller, id));
  }

  @Post(':id/replay')
  @NeedsSecondPerson({
    summary: ({ params, body }) =>
      `Deliver to the webhook ${params['id']} again what follows the entry ${Number(body['after'])}`,
    writesAside: true,
  })
  @ApiRoute(
    'Deliver entries again',
    'Delivers again what its filter selects after a sequence, whatever was delivered before. A failing webhook ' +
      'becomes active again.',
  )
  @ApiRecordId(WEBHOOK)
  @Answers({ type: WebhookResponse, description: 'The active webhook.' })
  async replay(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { after }: ReplayWebhookRequest,
  ): Promise<WebhookResponse> {
    return WebhookResponse.from(await this.webhooks.replay(caller, id, after));
  }

  @Post(':id/resume')
  @ApiRoute('Resume a webhook', 'A failing webhook continues where it stopped; one that waits for a retry retries now.')
  @ApiRecordId(WEBHOOK)
  @Answers({ type: WebhookResponse, description: 'The active webhook.' })
  async resume(@Caller() caller: Caller, @Param('id') id: string): Promise<WebhookResponse> {
    return WebhookResponse.from(await this.webhooks.resume(caller, id));
  }

  @Delete(':id')
  @NeedsSecondPerson({ summary: ({ params }) => `Delete the webhook ${params['id']}`, canWait: true })
  @ApiRoute('Delete a webhook', 'Nothing more is delivered; its history stays.')
  @ApiRecordId(WEBHOOK, { sample: 2 })
  @AnswersNothing('Deleted; its history stays.')
  remove(@Caller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.webhooks.remove(caller, id);
  }
}

/**
 * Returns the body with the stored URL. Whoever has the URL of a chat can write there, so others only see its origin.
 */
function withStoredUrl(body: JsonObject, { url }: Webhook): JsonObject {
  return 'url' in body ? { ...body, url } : body;
}
