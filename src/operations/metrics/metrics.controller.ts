import { Controller, Get, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Configuration } from '../../core/config/configuration';
import { RateLimitBucket, RequiresScope, routeNotFound } from '../../http/request/routes';
import { Metrics } from './metrics';

/** Serves the metrics behind the API key, unless they have a port of their own. */
@ApiExcludeController()
@Controller('metrics')
export class MetricsController {
  private readonly isElsewhere: boolean;

  constructor(
    private readonly metrics: Metrics,
    { metricsPort }: Configuration,
  ) {
    this.isElsewhere = metricsPort !== null;
  }

  @Get()
  @RequiresScope('read')
  @RateLimitBucket('health')
  async get(@Res({ passthrough: true }) response: Response): Promise<string> {
    if (this.isElsewhere) throw routeNotFound();
    const text = await this.metrics.text();
    response.setHeader('Content-Type', this.metrics.contentType);
    return text;
  }
}
