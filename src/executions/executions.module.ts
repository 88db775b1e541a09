import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { WaitingModule } from '../http/waiting/waiting.module';
import { settledWhenDue } from '../ledger/due-settlement';
import { LedgerModule } from '../ledger/ledger.module';
import { DUE_APPROVALS } from './execution-approvals';
import { ExecutionApprovals1764100000012 } from './execution-approvals.migration';
import { ExecutionCompletions } from './execution-completions';
import { ExecutionRunner } from './execution-runner';
import { ExecutionSettlement } from './execution-settlement';
import { EXECUTION } from './execution.kind';
import { ExecutionListFilters1763700000012 } from './execution-list-filters.migration';
import { ExecutionProcess1763600000013 } from './execution-process.migration';
import { ExecutionProcessEnded1763800000012 } from './execution-process-ended.migration';
import { ExecutionsSchema1763600000012 } from './executions-schema.migration';
import { ExecutionsController } from './executions.controller';
import { ExecutionsService } from './executions.service';
import { ActionHandlers } from './handlers/action-handlers';
import { ActionRunner } from './handlers/action-runner';
import { InterruptedExecutions } from './interrupted-executions';

@Module({
  imports: [
    LedgerModule.forFeature({
      kinds: [EXECUTION],
      migrations: [
        ExecutionsSchema1763600000012,
        ExecutionProcess1763600000013,
        ExecutionListFilters1763700000012,
        ExecutionProcessEnded1763800000012,
        ExecutionApprovals1764100000012,
      ],
    }),
    DiscoveryModule,
    WaitingModule,
  ],
  controllers: [ExecutionsController],
  providers: [
    ExecutionsService,
    ExecutionRunner,
    ExecutionCompletions,
    ExecutionSettlement,
    InterruptedExecutions,
    settledWhenDue(DUE_APPROVALS, 'Executions'),
    ActionHandlers,
    ActionRunner,
  ],
  exports: [ExecutionRunner],
})
export class ExecutionsModule {}
