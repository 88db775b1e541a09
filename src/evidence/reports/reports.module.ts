import { Module } from '@nestjs/common';
import { CheckpointsModule } from '../checkpoints/checkpoints.module';
import { OversightService } from './oversight.service';
import { ReportsController } from './reports.controller';
import { TallyReader } from './tally-reader';

/** What the whole looks like: counted from the records, kept nowhere but in memory. */
@Module({
  imports: [CheckpointsModule],
  controllers: [ReportsController],
  providers: [OversightService, TallyReader],
})
export class ReportsModule {}
