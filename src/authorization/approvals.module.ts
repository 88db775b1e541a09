import { Module } from '@nestjs/common';
import { ExecutionsModule } from '../executions/executions.module';
import { ApprovalsController } from './approvals.controller';
import { ApprovalsService } from './approvals.service';
import { AuthorizationModule } from './authorization.module';

/** What can be done with an approval that was asked for. */
@Module({
  imports: [AuthorizationModule, ExecutionsModule],
  controllers: [ApprovalsController],
  providers: [ApprovalsService],
})
export class ApprovalsModule {}
