import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { PoliciesModule } from '../policies/policies.module';
import { StopsModule } from '../stops/stops.module';
import { EarlierExecutions } from '../executions/earlier-executions';
import { ActionGuards } from './action-guards';
import { Permissions } from './permissions';

/** What an agent may do. */
@Module({
  imports: [PoliciesModule, StopsModule, DiscoveryModule],
  providers: [Permissions, ActionGuards, EarlierExecutions],
  exports: [Permissions, ActionGuards, EarlierExecutions],
})
export class PermissionsModule {}
