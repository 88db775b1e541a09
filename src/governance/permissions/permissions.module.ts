import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { DecisionsModule } from '../decisions/decisions.module';
import { PoliciesModule } from '../policies/policies.module';
import { StopsModule } from '../stops/stops.module';
import { EvaluateController } from './evaluation/evaluate.controller';
import { Evaluations } from './evaluation/evaluations.service';
import { FactReader } from './facts';
import { ActionGuards } from './action-guards';
import { Permissions } from './permissions';

/** What an agent may do, and asking that without doing it. */
@Module({
  imports: [DecisionsModule, PoliciesModule, StopsModule, DiscoveryModule],
  controllers: [EvaluateController],
  providers: [Permissions, ActionGuards, FactReader, Evaluations],
  exports: [Permissions, ActionGuards, FactReader, Evaluations],
})
export class PermissionsModule {}
