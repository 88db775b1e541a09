import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { CLAIM } from './claim.entity';
import { ClaimsController, EntitiesController } from './entities.controller';
import { ClaimsService, EntitiesService } from './entities.service';
import { ENTITY } from './governed-entity.entity';

@Module({
  imports: [
    // The migrations of the ledger contain the tables of this and all features so far; a new feature lists its own.
    LedgerModule.forFeature({ kinds: [ENTITY, CLAIM] }),
  ],
  controllers: [EntitiesController, ClaimsController],
  providers: [EntitiesService, ClaimsService],
})
export class EntitiesModule {}
