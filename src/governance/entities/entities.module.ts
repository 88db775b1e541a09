import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { CLAIM } from './claim.entity';
import { ClaimsController } from './claims.controller';
import { EntitiesController } from './entities.controller';
import { ClaimsService } from './claims.service';
import { EntitiesService } from './entities.service';
import { ENTITY } from './governed-entity.entity';
import { PredicateKeys1765630000000 } from '../governance.migration';

@Module({
  imports: [
    LedgerModule.forFeature({
      kinds: [ENTITY, CLAIM],
      // Its tables are in the migration of the first release; a new feature lists its own.
      migrations: [PredicateKeys1765630000000],
    }),
  ],
  controllers: [EntitiesController, ClaimsController],
  providers: [EntitiesService, ClaimsService],
})
export class EntitiesModule {}
