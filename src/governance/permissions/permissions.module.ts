import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { PoliciesModule } from '../policies/policies.module';
import { StopsModule } from '../stops/stops.module';
import { ActionGuards } from './action-guards';
import { Permissions } from './permissions';

/** What an agent may do. */
@Module({
  imports: [PoliciesModule, StopsModule, DiscoveryModule],
  providers: [Permissions, ActionGuards],
  exports: [Permissions, ActionGuards],
})
export class PermissionsModule {}
