import { Module } from '@nestjs/common';
import { ExecutionsModule } from '../executions/executions.module';
import { PoliciesModule } from '../policies/policies.module';
import { ExecuteController } from './execute.controller';
import { ExecuteService } from './execute.service';
import { Permissions } from '../permissions/permissions';
import { ApprovalsController } from './approvals.controller';
import { ApprovalsService } from './approvals.service';

/** What an agent may do, and the approval it needs for it. */
@Module({
  imports: [ExecutionsModule, PoliciesModule],
  controllers: [ExecuteController],
  providers: [ExecuteService, Permissions],
  exports: [Permissions],
})
export class AuthorizationModule {}

/** What can be done with an approval. A module of its own keeps its routes behind those of executions in the API document. */
@Module({
  imports: [AuthorizationModule, ExecutionsModule],
  controllers: [ApprovalsController],
  providers: [ApprovalsService],
})
export class ApprovalsModule {}
