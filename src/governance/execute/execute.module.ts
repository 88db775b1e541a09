import { Module } from '@nestjs/common';
import { DecisionsModule } from '../decisions/decisions.module';
import { ExecutionsModule } from '../executions/executions.module';
import { ApprovalsController, ExecuteController } from './execute.controller';
import { ExecuteService } from './execute.service';
import { PermitsModule } from '../permits/permits.module';
import { PermissionsModule } from '../permissions/permissions.module';
import { PoliciesModule } from '../policies/policies.module';
import { UnknownOutcomes } from './unknown-outcomes';
import { SecretsModule } from '../secrets/secrets.module';
import { ApprovalsService } from './approvals.service';

/** Executes actions of agents, and requests the approvals they need. */
@Module({
  imports: [DecisionsModule, ExecutionsModule, PermissionsModule, PermitsModule, SecretsModule],
  controllers: [ExecuteController],
  providers: [ExecuteService, UnknownOutcomes],
  exports: [ExecuteService, UnknownOutcomes, PermissionsModule, PermitsModule],
})
export class ExecuteModule {}

/** Uses approvals. A separate module puts its routes after those of executions in the API document. */
@Module({
  imports: [ExecuteModule, ExecutionsModule, PoliciesModule],
  controllers: [ApprovalsController],
  providers: [ApprovalsService],
  exports: [ApprovalsService],
})
export class ApprovalsModule {}
