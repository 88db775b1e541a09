import { Module } from '@nestjs/common';
import { PoliciesModule } from '../../governance/policies/policies.module';
import { CheckpointsModule } from '../checkpoints/checkpoints.module';
import { DecisionFilesController } from './decision-files.controller';
import { DecisionFiles } from './decision-files.service';

@Module({
  imports: [CheckpointsModule, PoliciesModule],
  controllers: [DecisionFilesController],
  providers: [DecisionFiles],
})
export class DecisionFilesModule {}
