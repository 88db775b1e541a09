import { Global, Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module';
import { IssuedKeys } from '../http/authentication/issued-keys';
import { LedgerModule } from '../ledger/ledger.module';
import { API_KEY } from './api-key.kind';
import { EXPIRED_KEYS } from './expired-keys';
import { ApiKeysController } from './api-keys.controller';
import { ApiKeysSchema1764100000020 } from './api-keys-schema.migration';
import { ApiKeysService } from './api-keys.service';
import { ActiveKeys } from './active-keys';
import { MeController } from './me.controller';

/** Keys that the service issues. Global, as authentication, which runs before all modules, needs their holders. */
@Global()
@Module({
  imports: [LedgerModule.forFeature({ kinds: [API_KEY], migrations: [ApiKeysSchema1764100000020] }), AgentsModule],
  controllers: [ApiKeysController, MeController],
  providers: [ApiKeysService, ActiveKeys, EXPIRED_KEYS, { provide: IssuedKeys, useExisting: ActiveKeys }],
  exports: [IssuedKeys],
})
export class ApiKeysModule {}
