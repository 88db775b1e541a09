import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module';
import { settledWhenDue } from '../../ledger/due-settlement';
import { LedgerModule } from '../../ledger/ledger.module';
import { PoliciesModule } from '../policies/policies.module';
import { AwaitingDecisions } from './approvers/awaiting-decisions';
import { DecisionApproversService } from './approvers/decision-approvers.service';
import { BoundReviewers, ReviewPolicies } from './reviewers';
import { DecisionReviewsService } from './decision-reviews.service';
import { DUE_DECISIONS } from './decision-settlement';
import { DECISION } from './decision.kind';
import { DecisionsController } from './decisions.controller';
import { DecisionsService } from './decisions.service';

@Module({
  imports: [
    LedgerModule.forFeature({
      kinds: [DECISION],
      migrations: [],
    }),
    AgentsModule,
    PoliciesModule,
  ],
  controllers: [DecisionsController],
  providers: [
    DecisionsService,
    DecisionReviewsService,
    settledWhenDue(DUE_DECISIONS, 'Decisions'),
    BoundReviewers,
    ReviewPolicies,
    DecisionApproversService,
    AwaitingDecisions,
  ],
})
export class DecisionsModule {}
