import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { JsonObject } from '../../core/json/json-value';
import { Caller } from '../../http/input/caller.decorator';
import { ClientSignal } from '../../http/responses/response-end';
import type { DirectoryGroup } from './directory-group.entity';
import { DirectoryGroups, type GroupFilter } from './directory-groups';
import { DirectoryMemberships } from './directory-memberships';
import { DirectoryTurns } from './directory-turns';
import { parseFilter } from './scim-filter';
import { groupOperations, memberIds, plainBody, plainOperations } from './scim-input';
import { type AttributeChoice, isChosen, listResponse, shownGroup, withChosen } from './scim-responses';
import { readQuery } from './scim.query';
import { ScimRoutes } from './scim-routes';
import { GROUP_ATTRIBUTES, patchGroup, readGroup, readOperations, type ScimGroup } from './scim-schema';

const FILTERED = ['displayName', 'externalId'] as const;
/** Most members in a page, which ends early at this number unless it has only one group. */
const MAX_PAGE_MEMBERS = 20_000;

type Parameters = Readonly<Record<string, unknown>>;

/** Groups of people, as a directory sends and reads them by SCIM. */
@ApiExcludeController()
@ScimRoutes()
@Controller('scim/v2/Groups')
export class ScimGroupsController {
  constructor(
    private readonly memberships: DirectoryMemberships,
    private readonly groups: DirectoryGroups,
    private readonly turns: DirectoryTurns,
  ) {}

  @Get()
  list(@ClientSignal() signal: AbortSignal, @Query() parameters: Parameters): Promise<JsonObject> {
    return this.turns.run(signal, async () => {
      const { filter, startIndex, limit, ...choice } = readQuery(parameters);
      const { rows, total } = await this.groups.page(groupFilter(filter), { offset: startIndex - 1, limit });
      const resources: JsonObject[] = [];
      for (const group of await this.groupsThatFit(rows, choice)) resources.push(await this.show(group, choice));
      return listResponse(resources, total, startIndex);
    });
  }

  @Post()
  create(@ClientSignal() signal: AbortSignal, @Caller() caller: Caller, @Body() body: JsonObject): Promise<JsonObject> {
    return this.turns.run(signal, async () =>
      this.show(await this.memberships.create(caller, readGroup(body), membersIn(body)), {}),
    );
  }

  @Get(':id')
  get(
    @ClientSignal() signal: AbortSignal,
    @Param('id') id: string,
    @Query() parameters: Parameters,
  ): Promise<JsonObject> {
    return this.turns.run(signal, async () => this.show(await this.memberships.get(id), readQuery(parameters)));
  }

  @Put(':id')
  replace(
    @ClientSignal() signal: AbortSignal,
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() body: JsonObject,
  ): Promise<JsonObject> {
    return this.turns.run(signal, async () => {
      const replaced = ({ externalId }: DirectoryGroup): ScimGroup => readGroup(body, externalId ?? undefined);
      const members = { replacesAll: true, added: membersIn(body), removed: new Set<string>() };
      const namesExternalId = 'externalid' in plainBody(body);
      const change = { inputFor: replaced, members, namesExternalId };
      return this.show(await this.memberships.change(caller, id, change), {});
    });
  }

  @Patch(':id')
  @HttpCode(204)
  patch(
    @ClientSignal() signal: AbortSignal,
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() body: JsonObject,
  ): Promise<void> {
    return this.turns.run(signal, async () => {
      const { simple, members } = groupOperations(plainOperations(readOperations(body), GROUP_ATTRIBUTES));
      const patched = (before: DirectoryGroup): Promise<ScimGroup> => {
        const { meta: _meta, ...group } = shownGroup(before, undefined, this.turns.base);
        return patchGroup(group, simple);
      };
      const namesExternalId = simple.some(({ path }) => path === 'externalid');
      await this.memberships.change(caller, id, { inputFor: patched, members, namesExternalId });
    });
  }

  @Delete(':id')
  @HttpCode(204)
  remove(@ClientSignal() signal: AbortSignal, @Caller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.turns.run(signal, () => this.memberships.remove(caller, id));
  }

  private async show(group: DirectoryGroup, choice: AttributeChoice): Promise<JsonObject> {
    const members = isChosen('members', choice) ? await this.groups.membersOf(group.id) : undefined;
    return withChosen(shownGroup(group, members, this.turns.base), choice);
  }

  /** Returns the first groups of a page whose members fit into a response. */
  private async groupsThatFit(
    groups: readonly DirectoryGroup[],
    choice: AttributeChoice,
  ): Promise<readonly DirectoryGroup[]> {
    if (!isChosen('members', choice)) return groups;
    const counts = await this.groups.memberCounts(groups.map(({ id }) => id));
    let members = 0;
    return groups.filter(({ id }, index) => {
      members += counts.get(id) ?? 0;
      return index === 0 || members <= MAX_PAGE_MEMBERS;
    });
  }
}

function membersIn(body: JsonObject): ReadonlySet<string> {
  return memberIds(plainBody(body)['members']);
}

function groupFilter(text: string | undefined): GroupFilter {
  if (text === undefined) return [];
  return parseFilter(text, FILTERED).map(({ name, value }) => [name, String(value)] as const);
}
