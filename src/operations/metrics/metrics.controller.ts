import { Controller, Get, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { callerRefused } from '../../core/errors/domain-error';
import { Caller } from '../../http/input/caller.decorator';
import { SetRouteMetadata, RateLimitBucket, RequiresScope } from '../../http/request/routes';
import { Metrics } from './metrics';

/** Serves the metrics behind the API key, unless they have a separate port. */
@ApiExcludeController()
@SetRouteMetadata({ isServedWith: ({ metricsPort }) => metricsPort === null })
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  @RequiresScope('read')
  @RateLimitBucket('health')
  async get(@Caller() caller: Caller, @Res({ passthrough: true }) response: Response): Promise<string> {
    // The metrics count all teams.
    if (caller.team !== undefined) throw callerRefused('not_this_team');
    const text = await this.metrics.text();
    response.setHeader('Content-Type', this.metrics.contentType);
    return text;
  }
}
