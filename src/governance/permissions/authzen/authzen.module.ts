import { Module } from '@nestjs/common';
import { PermissionsModule } from '../permissions.module';
import { AuthzenController } from './authzen.controller';
import { SecretsModule } from '../../secrets/secrets.module';
import { AuthzenService } from './authzen.service';

/** Makes the service a policy decision point that implements the standard. Its routes are outside `/api/v1`. */
@Module({
  imports: [PermissionsModule, SecretsModule],
  controllers: [AuthzenController],
  providers: [AuthzenService],
})
export class AuthzenModule {}
