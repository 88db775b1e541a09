import { Module } from '@nestjs/common';
import { OversightService } from './oversight.service';
import { CheckpointsModule } from '../checkpoints/checkpoints.module';
import { TallyReader } from './tally-reader';
import { ReportsController } from './reports.controller';

/** What the whole looks like: counted from the records, kept nowhere but in memory. */
@Module({
  imports: [CheckpointsModule],
  controllers: [ReportsController],
  providers: [OversightService, TallyReader],
})
export class ReportsModule {}
