import { Module } from '@nestjs/common';
import { HealthController } from './health.controller';
import { HealthService } from './health.service';
import { StatisticsController } from './statistics.controller';

@Module({ controllers: [HealthController, StatisticsController], providers: [HealthService] })
export class HealthModule {}
