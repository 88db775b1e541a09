import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module';
import { settledWhenDue } from '../../ledger/due-settlement';
import { LedgerModule } from '../../ledger/ledger.module';
import { PasskeysModule } from '../passkeys/passkeys.module';
import { PoliciesModule } from '../policies/policies.module';
import { Approvers } from './approvers';
import { BoundReviewers } from './reviewers';
import { DecisionReviewsService } from './decision-reviews.service';
import { DUE_DECISIONS } from './decision-settlement';
import { DECISION } from './decision.entity';
import { DecisionsController } from './decisions.controller';
import { DecisionsService } from './decisions.service';
import { DUE_GRANTS } from './grants/grant-changes';
import { GRANT } from './grants/grant.entity';
import { GrantsController } from './grants/grants.controller';
import { GrantReaders, GrantsService } from './grants/grants.service';
import { GrantFinder } from './grants/grant-finder';

@Module({
  imports: [LedgerModule.forFeature({ kinds: [DECISION, GRANT] }), AgentsModule, PasskeysModule, PoliciesModule],
  controllers: [DecisionsController, GrantsController],
  providers: [
    DecisionsService,
    DecisionReviewsService,
    settledWhenDue(DUE_DECISIONS, 'Decisions'),
    settledWhenDue(DUE_GRANTS, 'Grants'),
    GrantReaders,
    GrantsService,
    GrantFinder,
    BoundReviewers,
    Approvers,
  ],
  exports: [DecisionReviewsService, Approvers, GrantFinder],
})
export class DecisionsModule {}
