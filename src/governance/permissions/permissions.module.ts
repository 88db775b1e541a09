import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { DecisionsModule } from '../decisions/decisions.module';
import { PoliciesModule } from '../policies/policies.module';
import { StopsModule } from '../stops/stops.module';
import { EvaluateController } from './evaluation/evaluate.controller';
import { Evaluations } from './evaluation/evaluations.service';
import { FactReader } from './facts';
import { ActionGuards } from './action-guards';
import { SecretsModule } from '../secrets/secrets.module';
import { Permissions } from './permissions';

/** Decides what an agent may do, for execute and for evaluate, which has no effect. */
@Module({
  imports: [DecisionsModule, PoliciesModule, StopsModule, DiscoveryModule, SecretsModule],
  controllers: [EvaluateController],
  providers: [Permissions, ActionGuards, FactReader, Evaluations],
  exports: [Permissions, ActionGuards, FactReader, Evaluations],
})
export class PermissionsModule {}
