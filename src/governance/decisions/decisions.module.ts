import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module';
import { settledWhenDue } from '../../ledger/due-settlement';
import { LedgerModule } from '../../ledger/ledger.module';
import { PasskeysModule } from '../passkeys/passkeys.module';
import { PoliciesModule } from '../policies/policies.module';
import { Approvers } from './approvers';
import { SchemaContribution } from '../../ledger/database/start-condition';
import { ChangeMark, ChangeRequest } from './changes/change-requests';
import { ChangeProposers } from './changes/change-proposers';
import { Changes1766600000000 } from './changes/changes.migration';
import { BoundReviewers } from './reviewers';
import { DecisionReviewsService } from './decision-reviews.service';
import { DUE_DECISIONS, ESCALATION_SETTLEMENT } from './decision-settlement';
import { DelegationsModule } from '../delegations/delegations.module';
import { DECISION } from './decision.entity';
import { DecisionsController } from './decisions.controller';
import { DecisionsService } from './decisions.service';
import { DUE_GRANTS } from './grants/grant-changes';
import { GRANT } from './grants/grant.entity';
import { GrantsController } from './grants/grants.controller';
import { GrantReaders, GrantsService } from './grants/grants.service';
import { SecretsModule } from '../secrets/secrets.module';
import { GrantFinder } from './grants/grant-finder';

const OUTSIDE_THE_LEDGER = new SchemaContribution([ChangeRequest, ChangeMark], []);

@Module({
  imports: [
    LedgerModule.forFeature({ kinds: [DECISION, GRANT], migrations: [Changes1766600000000] }),
    AgentsModule,
    DelegationsModule,
    PasskeysModule,
    PoliciesModule,
    SecretsModule,
  ],
  controllers: [DecisionsController, GrantsController],
  providers: [
    DecisionsService,
    DecisionReviewsService,
    { provide: SchemaContribution, useValue: OUTSIDE_THE_LEDGER },
    settledWhenDue(DUE_DECISIONS, 'Decisions'),
    ESCALATION_SETTLEMENT,
    settledWhenDue(DUE_GRANTS, 'Grants'),
    GrantReaders,
    GrantsService,
    GrantFinder,
    BoundReviewers,
    ChangeProposers,
    Approvers,
  ],
  exports: [DecisionReviewsService, Approvers, GrantFinder],
})
export class DecisionsModule {}
