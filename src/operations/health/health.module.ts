import { Module } from '@nestjs/common';
import { HealthController, StatisticsController } from './health.controller';
import { HealthService } from './health.service';

@Module({ controllers: [HealthController, StatisticsController], providers: [HealthService] })
export class HealthModule {}
