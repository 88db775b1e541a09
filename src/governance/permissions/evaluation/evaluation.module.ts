import { Module } from '@nestjs/common';
import { PoliciesModule } from '../../policies/policies.module';
import { EvaluateController } from './evaluate.controller';
import { Evaluations } from './evaluations.service';

/** Evaluating actions without performing them. */
@Module({
  imports: [PoliciesModule],
  controllers: [EvaluateController],
  providers: [Evaluations],
  exports: [Evaluations],
})
export class EvaluationModule {}
