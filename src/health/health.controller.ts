import { Controller, Get, HttpStatus, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '../http/authentication/public.decorator';
import { RateLimitBucket } from '../http/rate-limit/rate-limit-bucket.decorator';
import { HealthResponse } from './dto/health.response';
import { HealthService } from './health.service';

@ApiTags('Health')
@Controller('health')
export class HealthController {
  constructor(private readonly health: HealthService) {}

  @Get()
  @Public()
  @RateLimitBucket('health')
  @ApiOperation({ summary: 'Tell whether the service can do its work' })
  @ApiOkResponse({ type: HealthResponse, description: 'The database answers and takes commits.' })
  @ApiResponse({ status: 503, type: HealthResponse, description: 'It does not answer, or commits fail.' })
  async get(@Res({ passthrough: true }) response: Response): Promise<HealthResponse> {
    const isHealthy = await this.health.isHealthy();
    if (!isHealthy) response.status(HttpStatus.SERVICE_UNAVAILABLE);
    return { status: isHealthy ? 'healthy' : 'unhealthy', timestamp: new Date().toISOString() };
  }
}
