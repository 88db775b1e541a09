import { Module } from '@nestjs/common';
import { SchemaContribution } from '../../ledger/database/start-condition';
import { AgentsModule } from '../agents/agents.module';
import { Directory1766600000000 } from './directory.migration';
import { DirectoryGroup, DirectoryMember } from './directory-group.entity';
import { DirectoryGroups } from './directory-groups';
import { DirectoryGroupsController } from './directory-groups.controller';
import { DirectoryMemberships } from './directory-memberships';
import { DirectoryPeople } from './directory-people';
import { DirectoryRoles } from './directory-roles';
import { DirectoryTurns } from './directory-turns';
import { ScimDiscoveryController } from './scim-discovery.controller';
import { ScimGroupsController } from './scim-groups.controller';
import { ScimUsersController } from './scim-users.controller';

const SCHEMA = new SchemaContribution([DirectoryGroup, DirectoryMember], [Directory1766600000000]);
const SHARED = [DirectoryGroups, DirectoryMemberships, DirectoryPeople, DirectoryTurns];

/** People and groups from a directory. */
@Module({
  imports: [AgentsModule],
  controllers: [DirectoryGroupsController],
  providers: [...SHARED, DirectoryRoles, { provide: SchemaContribution, useValue: SCHEMA }],
  exports: SHARED,
})
export class DirectoryModule {}

/** Provides SCIM 2.0, by which a directory sends people and groups. Its routes are outside `/api/v1`. */
@Module({
  imports: [DirectoryModule],
  controllers: [ScimUsersController, ScimGroupsController, ScimDiscoveryController],
})
export class ScimModule {}
