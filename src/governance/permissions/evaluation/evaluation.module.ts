import { Module } from '@nestjs/common';
import { PoliciesModule } from '../../policies/policies.module';
import { StopsModule } from '../../stops/stops.module';
import { PermissionsModule } from '../permissions.module';
import { EvaluateController } from './evaluate.controller';
import { Evaluations } from './evaluations.service';

/** Evaluating actions without performing them. */
@Module({
  imports: [PoliciesModule, StopsModule, PermissionsModule],
  controllers: [EvaluateController],
  providers: [Evaluations],
  exports: [Evaluations],
})
export class EvaluationModule {}
