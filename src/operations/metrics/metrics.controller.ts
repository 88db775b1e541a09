import { Controller, Get, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { SetRouteMetadata, RateLimitBucket, RequiresScope } from '../../http/request/routes';
import { Metrics } from './metrics';

/** Serves the metrics behind the API key, unless they have a port of their own. */
@ApiExcludeController()
@SetRouteMetadata({ isServedWith: ({ metricsPort }) => metricsPort === null })
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  @RequiresScope('read')
  @RateLimitBucket('health')
  async get(@Res({ passthrough: true }) response: Response): Promise<string> {
    const text = await this.metrics.text();
    response.setHeader('Content-Type', this.metrics.contentType);
    return text;
  }
}
