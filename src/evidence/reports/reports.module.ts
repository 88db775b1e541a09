import { Module } from '@nestjs/common';
import { OversightService } from './oversight.service';
import { CheckpointsModule } from '../checkpoints/checkpoints.module';
import { TallyReader } from './tally-reader';
import { ReportsController } from './reports.controller';

/** Reports about a period, counted from the records, and cached in memory only. */
@Module({
  imports: [CheckpointsModule],
  controllers: [ReportsController],
  providers: [OversightService, TallyReader],
})
export class ReportsModule {}
