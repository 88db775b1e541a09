import { Module } from '@nestjs/common';
import { LedgerModule } from '../../ledger/ledger.module';
import { PoliciesModule } from '../policies/policies.module';
import { PolicyPlansModule } from '../policy-plans/policy-plans.module';
import { StopsModule } from '../stops/stops.module';
import { AccessReviews } from './access-reviews';
import { AccessSnapshots } from './access-snapshots';
import { AccessController } from './access.controller';
import { AccessService } from './access.service';

/** Shows what each agent may do, and who has reviewed it. */
@Module({
  imports: [LedgerModule, PoliciesModule, PolicyPlansModule, StopsModule],
  controllers: [AccessController],
  providers: [AccessService, AccessSnapshots, AccessReviews],
})
export class AccessModule {}
