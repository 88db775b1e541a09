import { Module } from '@nestjs/common';
import { DecisionsModule } from '../../decisions/decisions.module';
import { PoliciesModule } from '../../policies/policies.module';
import { StopsModule } from '../../stops/stops.module';
import { PermissionsModule } from '../permissions.module';
import { EvaluateController } from './evaluate.controller';
import { GrantedAnswers } from './granted-answers';
import { Evaluations } from './evaluations.service';

/** Evaluating actions without performing them. */
@Module({
  imports: [DecisionsModule, PoliciesModule, StopsModule, PermissionsModule],
  controllers: [EvaluateController],
  providers: [Evaluations, GrantedAnswers],
  exports: [Evaluations],
})
export class EvaluationModule {}
