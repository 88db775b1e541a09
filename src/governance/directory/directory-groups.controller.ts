import { Controller, Get } from '@nestjs/common';
import { ApiProperty, ApiTags } from '@nestjs/swagger';
import { RequiresScope } from '../../http/request/routes';
import { Answers, ApiCount, ApiNullableText, ApiRoute } from '../../http/openapi/response-members';
import { DirectoryGroups, MAX_GROUPS } from './directory-groups';
import { DirectoryRoles } from './directory-roles';

export class DirectoryGroupResponse {
  @ApiProperty({ example: 'grp_01M7W000000000000000000001' })
  readonly id!: string;

  @ApiNullableText('The id of the group in the directory.')
  readonly externalId!: string | null;

  @ApiProperty({ example: 'Finance' })
  readonly displayName!: string;

  @ApiCount('The people in the group.')
  readonly members!: number;

  @ApiProperty({ type: [String], example: ['finance'], description: 'The roles that DIRECTORY_ROLES gives them.' })
  readonly roles!: readonly string[];
}

export class DirectoryGroupsResponse {
  @ApiProperty({ type: [DirectoryGroupResponse] })
  readonly data!: readonly DirectoryGroupResponse[];

  @ApiCount('All groups.')
  readonly total!: number;
}

/** Lists the groups of the directory, for the author of `DIRECTORY_ROLES`. */
@ApiTags('Directory')
@Controller('directory')
export class DirectoryGroupsController {
  constructor(
    private readonly groups: DirectoryGroups,
    private readonly roles: DirectoryRoles,
  ) {}

  @Get('groups')
  @RequiresScope('admin')
  @ApiRoute('List the groups of the directory', 'With the roles that `DIRECTORY_ROLES` gives their members.')
  @Answers({ type: DirectoryGroupsResponse, description: 'The groups, in order of creation.' })
  async list(): Promise<DirectoryGroupsResponse> {
    const { rows, total } = await this.groups.page([], { offset: 0, limit: MAX_GROUPS });
    const counts = await this.groups.memberCounts(rows.map(({ id }) => id));
    const data = rows.map(({ id, externalId, displayName }) => ({
      ...{ id, externalId, displayName, members: counts.get(id) ?? 0 },
      roles: [...this.roles.rolesOf({ id, externalId })],
    }));
    return { data, total };
  }
}
