import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { PasskeysModule } from '../passkeys/passkeys.module';
import { ApproverWarnings } from './approver-warnings';
import { CreationWarnings } from './creation-warnings';
import { FourthEvaluation1766900000000 } from './fourth-evaluation.migration';
import { PassedSums } from './limits/passed-sums';
import { MissingSums } from './limits/used-sums';
import { PoliciesController } from './policies.controller';
import { PoliciesService } from './policies.service';
import { ActivePolicies } from './active-policies';
import { PastPolicies } from './past-policies';
import { SecretsModule } from '../secrets/secrets.module';
import { POLICY } from './policy.entity';

@Module({
  imports: [
    LedgerModule.forFeature({ kinds: [POLICY], migrations: [FourthEvaluation1766900000000] }),
    PasskeysModule,
    SecretsModule,
  ],
  controllers: [PoliciesController],
  providers: [
    PoliciesService,
    ActivePolicies,
    PastPolicies,
    ApproverWarnings,
    CreationWarnings,
    MissingSums,
    PassedSums,
  ],
  exports: [ActivePolicies, PastPolicies, CreationWarnings],
})
export class PoliciesModule {}
