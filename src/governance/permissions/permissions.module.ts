import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { PoliciesModule } from '../policies/policies.module';
import { StopsModule } from '../stops/stops.module';
import { KnownClaims } from '../entities/known-claims';
import { EarlierExecutions } from '../executions/earlier-executions';
import { FactReader } from './facts';
import { ActionGuards } from './action-guards';
import { Permissions } from './permissions';

/** What an agent may do. */
@Module({
  imports: [PoliciesModule, StopsModule, DiscoveryModule],
  providers: [Permissions, ActionGuards, EarlierExecutions, KnownClaims, FactReader],
  exports: [Permissions, ActionGuards, FactReader],
})
export class PermissionsModule {}
