import { Module } from '@nestjs/common';
import { PermissionsModule } from '../permissions/permissions.module';
import { LedgerModule } from '../../ledger/ledger.module';
import { PoliciesModule } from '../policies/policies.module';
import { PolicySetsController } from './policy-sets.controller';
import { PolicySetsService } from './policy-sets.service';
import { PolicyComparisons } from './policy-comparisons';
import { PolicyTests } from './policy-tests';
import { SecretsModule } from '../secrets/secrets.module';
import { Replays } from './replays';

/** Plans the effects of whole sets of policies, and brings sets into force. */
@Module({
  imports: [LedgerModule, PoliciesModule, PermissionsModule, SecretsModule],
  controllers: [PolicySetsController],
  providers: [PolicyComparisons, PolicyTests, Replays, PolicySetsService],
  exports: [PolicyComparisons],
})
export class PolicyPlansModule {}
