import { Module } from '@nestjs/common';
import { LedgerModule } from '../ledger/ledger.module';
import { ApproverSearch } from './approval/approver-search';
import { CreationWarnings } from './creation-warnings';
import { PoliciesController } from './policies.controller';
import { PolicyConditions1764100000041 } from './policy-conditions.migration';
import { PolicyApproval1764100000030 } from './policy-approval.migration';
import { PolicyListFilters1763700000011 } from './policy-list-filters.migration';
import { PoliciesSchema1763600000011 } from './policies-schema.migration';
import { PoliciesService } from './policies.service';
import { ActivePolicies } from './active-policies';
import { PastPolicies } from './past-policies';
import { POLICY } from './policy.kind';

@Module({
  imports: [
    LedgerModule.forFeature({
      kinds: [POLICY],
      migrations: [
        PoliciesSchema1763600000011,
        PolicyListFilters1763700000011,
        PolicyApproval1764100000030,
        PolicyConditions1764100000041,
      ],
    }),
  ],
  controllers: [PoliciesController],
  providers: [ApproverSearch, PoliciesService, ActivePolicies, PastPolicies, CreationWarnings],
  exports: [ActivePolicies, PastPolicies, CreationWarnings],
})
export class PoliciesModule {}
