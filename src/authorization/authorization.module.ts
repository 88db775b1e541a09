import { Module } from '@nestjs/common';
import { ExecutionsModule } from '../executions/executions.module';
import { PoliciesModule } from '../policies/policies.module';
import { ExecuteController } from './execute.controller';
import { ExecuteService } from './execute.service';
import { Permissions } from './permissions';

/** What an agent may do, and the approval it needs for it. */
@Module({
  imports: [ExecutionsModule, PoliciesModule],
  controllers: [ExecuteController],
  providers: [ExecuteService, Permissions],
  exports: [Permissions],
})
export class AuthorizationModule {}
