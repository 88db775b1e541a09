import { Module } from '@nestjs/common';
import { LedgerModule } from '../ledger/ledger.module';
import { PoliciesController } from './policies.controller';
import { PolicyListFilters1763700000011 } from './policy-list-filters.migration';
import { PoliciesSchema1763600000011 } from './policies-schema.migration';
import { PoliciesService } from './policies.service';
import { PolicyBook } from './policy-book';
import { POLICY } from './policy.kind';

@Module({
  imports: [
    LedgerModule.forFeature({
      kinds: [POLICY],
      migrations: [PoliciesSchema1763600000011, PolicyListFilters1763700000011],
    }),
  ],
  controllers: [PoliciesController],
  providers: [PoliciesService, PolicyBook],
  exports: [PolicyBook],
})
export class PoliciesModule {}
