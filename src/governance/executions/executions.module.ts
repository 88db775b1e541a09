import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { settledWhenDue } from '../../ledger/due-settlement';
import { LedgerModule } from '../../ledger/ledger.module';
import { DUE_APPROVALS } from './execution-rules';
import { EarlierResources1766700000000 } from './earlier-resources.migration';
import { ExecutionCompletions, InterruptedExecutions } from './execution-completions';
import { ExecutionRunner } from './execution-runner';
import { EXECUTION } from './execution.entity';
import { ExecutionsController } from './executions.controller';
import { GatewayExecutions1766100000000 } from './gateway-executions.migration';
import { GatewayExecutionsList1766150000000 } from './gateway-executions-list.migration';
import { RecentExecutions1766000000000 } from './recent-executions.migration';
import { ResumedExecutions1766800000000 } from './resumed-executions.migration';
import { ActionHandlers } from './handlers/action-handlers';
import { ActionRunner } from './handlers/action-runner';
import { UNREPORTED_SETTLEMENT } from './unreported-executions';
import { UnreportedExecutions1766250000000 } from './unreported-executions.migration';
import { SecretsModule } from '../secrets/secrets.module';
import { StopsModule } from '../stops/stops.module';

@Module({
  imports: [
    LedgerModule.forFeature({
      kinds: [EXECUTION],
      migrations: [
        RecentExecutions1766000000000,
        GatewayExecutions1766100000000,
        GatewayExecutionsList1766150000000,
        UnreportedExecutions1766250000000,
        EarlierResources1766700000000,
        ResumedExecutions1766800000000,
      ],
    }),
    DiscoveryModule,
    StopsModule,
    SecretsModule,
  ],
  controllers: [ExecutionsController],
  providers: [
    ExecutionRunner,
    ExecutionCompletions,
    InterruptedExecutions,
    settledWhenDue(DUE_APPROVALS, 'Executions'),
    UNREPORTED_SETTLEMENT,
    ActionHandlers,
    ActionRunner,
  ],
  exports: [ExecutionRunner],
})
export class ExecutionsModule {}
