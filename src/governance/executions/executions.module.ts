import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { settledWhenDue } from '../../ledger/due-settlement';
import { LedgerModule } from '../../ledger/ledger.module';
import { DUE_APPROVALS } from './execution-approvals';
import { ExecutionCompletions } from './execution-completions';
import { ExecutionRunner } from './execution-runner';
import { EXECUTION } from './execution.entity';
import { ExecutionsController } from './executions.controller';
import { ExecutionsService } from './executions.service';
import { ActionHandlers } from './handlers/action-handlers';
import { ActionRunner } from './handlers/action-runner';
import { InterruptedExecutions } from './interrupted-executions';

@Module({
  imports: [
    LedgerModule.forFeature({
      kinds: [EXECUTION],
      migrations: [],
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
  exports: [ExecutionRunner, ExecutionsService],
})
export class ExecutionsModule {}
