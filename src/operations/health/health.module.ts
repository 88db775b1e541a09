import { Module } from '@nestjs/common';
import { HealthController, StatisticsController } from './health.controller';

@Module({ controllers: [HealthController, StatisticsController] })
export class HealthModule {}
