import { Module } from '@nestjs/common';
import { ApprovalsModule, ExecuteModule } from '../execute/execute.module';
import { SecretsModule } from '../secrets/secrets.module';
import { PermissionsModule } from '../permissions/permissions.module';
import { BoundCallers, ForwardAuthService } from './forward-auth.service';
import { ForwardAuthController } from './forward-auth.controller';

/** Answers gateways about each request of an agent. Its route is outside `/api/v1`. */
@Module({
  imports: [ExecuteModule, ApprovalsModule, PermissionsModule, SecretsModule],
  controllers: [ForwardAuthController],
  providers: [ForwardAuthService, BoundCallers],
})
export class ForwardAuthModule {}
