import { Module } from '@nestjs/common';
import { LedgerModule } from '../ledger/ledger.module';
import { PoliciesModule } from '../policies/policies.module';
import { DecisionExpiryService } from './decision-expiry.service';
import { DecisionReviewsService } from './decision-reviews.service';
import { DECISION } from './decision.kind';
import { DecisionDue1763900000040 } from './decision-due.migration';
import { DecisionListFilters1763700000040 } from './decision-list-filters.migration';
import { DecisionsSchema1763600000040 } from './decisions-schema.migration';
import { DecisionsController } from './decisions.controller';
import { DecisionsService } from './decisions.service';

@Module({
  imports: [
    LedgerModule.forFeature({
      kinds: [DECISION],
      migrations: [DecisionsSchema1763600000040, DecisionListFilters1763700000040, DecisionDue1763900000040],
    }),
    PoliciesModule,
  ],
  controllers: [DecisionsController],
  providers: [DecisionsService, DecisionReviewsService, DecisionExpiryService],
})
export class DecisionsModule {}
