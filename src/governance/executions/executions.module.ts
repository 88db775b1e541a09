import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { settledWhenDue } from '../../ledger/due-settlement';
import { LedgerModule } from '../../ledger/ledger.module';
import { DUE_APPROVALS } from './execution-approvals';
import { ExecutionCompletions } from './execution-completions';
import { ExecutionRunner } from './execution-runner';
import { EXECUTION } from './execution.entity';
import { ExecutionListFilters1763700000012 } from './execution-list-filters.migration';
import { ExecutionProcess1763600000013 } from './execution-process.migration';
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
      migrations: [ExecutionsSchema1763600000012, ExecutionProcess1763600000013, ExecutionListFilters1763700000012],
    }),
    DiscoveryModule,
  ],
  controllers: [ExecutionsController],
  providers: [
    ExecutionsService,
    ExecutionRunner,
    ExecutionCompletions,
    InterruptedExecutions,
    settledWhenDue(DUE_APPROVALS, 'Executions'),
    ActionHandlers,
    ActionRunner,
  ],
  exports: [ExecutionRunner],
})
export class ExecutionsModule {}
