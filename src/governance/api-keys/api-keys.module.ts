import { Global, Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module';
import { IssuedKeys } from '../../http/authentication/authentication';
import { LedgerModule } from '../../ledger/ledger.module';
import { PoliciesModule } from '../policies/policies.module';
import { API_KEY } from './api-key.entity';
import { ApiKeysController, MeController } from './api-keys.controller';
import { ApiKeysService, ActiveKeys, EXPIRED_KEYS } from './api-keys.service';

/** Issues keys. Global, because authentication, which runs before all modules, needs their holders. */
@Global()
@Module({
  imports: [LedgerModule.forFeature({ kinds: [API_KEY] }), AgentsModule, PoliciesModule],
  controllers: [ApiKeysController, MeController],
  providers: [ApiKeysService, ActiveKeys, EXPIRED_KEYS, { provide: IssuedKeys, useExisting: ActiveKeys }],
  exports: [IssuedKeys],
})
export class ApiKeysModule {}
