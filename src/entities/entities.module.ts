import { Module } from '@nestjs/common';
import { ClaimsOutliveEntities1764000000001 } from './claims-outlive-entities.migration';
import { LedgerModule } from '../ledger/ledger.module';
import { CLAIM } from './claim.kind';
import { ClaimsController } from './claims.controller';
import { ClaimsService } from './claims.service';
import { EntitiesSchema1763600000001 } from './entities-schema.migration';
import { EntitiesController } from './entities.controller';
import { EntitiesService } from './entities.service';
import { EntityNames1764100000042 } from './entity-names.migration';
import { ENTITY } from './entity.kind';

@Module({
  imports: [
    LedgerModule.forFeature({
      kinds: [ENTITY, CLAIM],
      migrations: [EntitiesSchema1763600000001, ClaimsOutliveEntities1764000000001, EntityNames1764100000042],
    }),
  ],
  controllers: [EntitiesController, ClaimsController],
  providers: [EntitiesService, ClaimsService],
})
export class EntitiesModule {}
