import { Module } from '@nestjs/common';
import { DecisionFiles } from './decision-files.service';
import { PoliciesModule } from '../../governance/policies/policies.module';
import { CheckpointsModule } from '../checkpoints/checkpoints.module';
import { DecisionFilesController } from './decision-files.controller';

@Module({
  imports: [CheckpointsModule, PoliciesModule],
  controllers: [DecisionFilesController],
  providers: [DecisionFiles],
})
export class DecisionFilesModule {}
