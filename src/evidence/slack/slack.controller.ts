import { Body, Controller, Headers, HttpCode, Post } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { RequestOrigin } from '../../http/input/caller.decorator';
import { Public, SetRouteMetadata } from '../../http/request/routes';
import type { Origin } from '../../ledger/kinds/caller';
import { SlackService } from './slack.service';

/** Serves Slack alone, whose signature takes the place of a key. */
@ApiExcludeController()
@Public()
@Controller('integrations/slack')
export class SlackController {
  constructor(private readonly slack: SlackService) {}

  @Post()
  @SetRouteMetadata({ takesForm: true, ignoresIdempotencyKey: true })
  @HttpCode(200)
  take(
    @RequestOrigin() origin: Origin,
    @Headers('x-slack-request-timestamp') timestamp = '',
    @Headers('x-slack-signature') signature = '',
    @Body('form') body = '',
  ): object {
    this.slack.accept({ timestamp, signature, body }, origin);
    return {};
  }
}
