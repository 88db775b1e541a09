import { Module } from '@nestjs/common';
import { settledWhenDue } from '../../ledger/due-settlement';
import { LedgerModule } from '../../ledger/ledger.module';
import { ActiveDelegations } from './active-delegations';
import { DUE_DELEGATIONS } from './delegation-changes';
import { DELEGATION } from './delegation.entity';
import { Delegations1766600000000 } from './delegations.migration';
import { DelegationsController } from './delegations.controller';
import { DelegationsService } from './delegations.service';

/** People who review in the place of others. */
@Module({
  imports: [LedgerModule.forFeature({ kinds: [DELEGATION], migrations: [Delegations1766600000000] })],
  controllers: [DelegationsController],
  providers: [DelegationsService, ActiveDelegations, settledWhenDue(DUE_DELEGATIONS, 'Delegations')],
  exports: [ActiveDelegations],
})
export class DelegationsModule {}
