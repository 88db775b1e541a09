import { Controller, Get, HttpStatus, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public, RateLimitBucket } from '../http/request/route-marks';
import { HealthResponse } from './dto/health.response';
import { HealthService } from './health.service';

@ApiTags('Health')
@Controller('health')
@Public()
@RateLimitBucket('health')
export class HealthController {
  constructor(private readonly health: HealthService) {}

  @Get()
  @ApiOperation({
    summary: 'Check whether the service can do its work',
    description: 'Healthy means that a write would succeed.',
  })
  @ApiOkResponse({ type: HealthResponse, description: 'A write would succeed.' })
  @ApiResponse({ status: 503, type: HealthResponse, description: 'It would not.' })
  async get(@Res({ passthrough: true }) response: Response): Promise<HealthResponse> {
    return answer(response, await this.health.isHealthy());
  }

  @Get('live')
  @ApiOperation({
    summary: 'Check that the process answers',
    description: 'Does not check the database: a restart would not fix that.',
  })
  @ApiOkResponse({ type: HealthResponse, description: 'The process answers.' })
  live(@Res({ passthrough: true }) response: Response): HealthResponse {
    return answer(response, true);
  }

  /** During shutdown, the shutdown guard answers 503 instead. */
  @Get('ready')
  @ApiOperation({
    summary: 'Check whether requests should be sent here',
    description: 'Like `GET /health`; while the service stops it is 503 as well.',
  })
  @ApiOkResponse({ type: HealthResponse, description: 'A write would succeed.' })
  @ApiResponse({ status: 503, type: HealthResponse, description: 'A write would fail, or the service is stopping.' })
  async ready(@Res({ passthrough: true }) response: Response): Promise<HealthResponse> {
    return answer(response, await this.health.isHealthy());
  }
}

function answer(response: Response, isHealthy: boolean): HealthResponse {
  if (!isHealthy) response.status(HttpStatus.SERVICE_UNAVAILABLE);
  return { status: isHealthy ? 'healthy' : 'unhealthy', timestamp: new Date().toISOString() };
}
