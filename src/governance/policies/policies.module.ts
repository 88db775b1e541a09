import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { CreationWarnings } from './creation-warnings';
import { PoliciesController } from './policies.controller';
import { PolicyListFilters1763700000011 } from './policy-list-filters.migration';
import { PoliciesSchema1763600000011 } from './policies-schema.migration';
import { PoliciesService } from './policies.service';
import { ActivePolicies } from './active-policies';
import { PastPolicies } from './past-policies';
import { POLICY } from './policy.entity';

@Module({
  imports: [
    LedgerModule.forFeature({
      kinds: [POLICY],
      migrations: [PoliciesSchema1763600000011, PolicyListFilters1763700000011],
    }),
  ],
  controllers: [PoliciesController],
  providers: [PoliciesService, ActivePolicies, PastPolicies, CreationWarnings],
  exports: [ActivePolicies, PastPolicies, CreationWarnings],
})
export class PoliciesModule {}
