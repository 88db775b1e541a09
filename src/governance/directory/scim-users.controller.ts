import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { scimFault } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import { Caller } from '../../http/input/caller.decorator';
import { ClientSignal } from '../../http/responses/response-end';
import { type UserFilter, userNameKey } from '../agents/directory-users';
import { DirectoryPeople, type DirectoryPerson } from './directory-people';
import { DirectoryTurns } from './directory-turns';
import { parseFilter } from './scim-filter';
import { plainOperations, userOperations } from './scim-input';
import { listResponse, shownUser, withChosen } from './scim-responses';
import { readQuery } from './scim.query';
import { ScimRoutes } from './scim-routes';
import { patchUser, readOperations, readUser, type ScimUser, USER_ATTRIBUTES } from './scim-schema';

const FILTERED = ['userName', 'externalId', 'displayName', 'active'] as const;

type Parameters = Readonly<Record<string, unknown>>;

/** People, as a directory sends and reads them by SCIM. */
@ApiExcludeController()
@ScimRoutes()
@Controller('scim/v2/Users')
export class ScimUsersController {
  constructor(
    private readonly people: DirectoryPeople,
    private readonly turns: DirectoryTurns,
  ) {}

  @Get()
  list(@ClientSignal() signal: AbortSignal, @Query() parameters: Parameters): Promise<JsonObject> {
    return this.turns.run(signal, async () => {
      const { filter, startIndex, limit, ...choice } = readQuery(parameters);
      const { people, total } = await this.people.page(userFilter(filter), { offset: startIndex - 1, limit });
      const resources = people.map((person) => withChosen(shownUser(person, this.turns.base), choice));
      return listResponse(resources, total, startIndex);
    });
  }

  @Post()
  create(@ClientSignal() signal: AbortSignal, @Caller() caller: Caller, @Body() body: JsonObject): Promise<JsonObject> {
    return this.turns.run(signal, async () =>
      shownUser(await this.people.create(caller, readUser(body)), this.turns.base),
    );
  }

  @Get(':id')
  get(
    @ClientSignal() signal: AbortSignal,
    @Param('id') id: string,
    @Query() parameters: Parameters,
  ): Promise<JsonObject> {
    return this.turns.run(signal, async () =>
      withChosen(shownUser(await this.people.get(id), this.turns.base), readQuery(parameters)),
    );
  }

  @Put(':id')
  replace(
    @ClientSignal() signal: AbortSignal,
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() body: JsonObject,
  ): Promise<JsonObject> {
    return this.turns.run(signal, async () => {
      const replaced = ({ user }: DirectoryPerson): ScimUser => readUser(body, user.externalId);
      return shownUser(await this.people.change(caller, id, replaced), this.turns.base);
    });
  }

  @Patch(':id')
  patch(
    @ClientSignal() signal: AbortSignal,
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() body: JsonObject,
  ): Promise<JsonObject> {
    return this.turns.run(signal, async () => {
      const operations = plainOperations(readOperations(body), USER_ATTRIBUTES);
      const patched = (person: DirectoryPerson): Promise<ScimUser> => {
        const { meta: _meta, ...user } = shownUser(person, this.turns.base);
        return patchUser(user, userOperations(operations, person.email !== null));
      };
      return shownUser(await this.people.change(caller, id, patched), this.turns.base);
    });
  }

  @Delete(':id')
  @HttpCode(204)
  remove(@ClientSignal() signal: AbortSignal, @Caller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.turns.run(signal, () => this.people.remove(caller, id));
  }
}

function userFilter(text: string | undefined): UserFilter {
  if (text === undefined) return [];
  return parseFilter(text, FILTERED).map(({ name, value }) => {
    if (name === 'userName') return ['userNameKey', userNameKey(String(value))] as const;
    if (name === 'active') return ['isActive', activeOf(value) ? 1 : 0] as const;
    return [name, String(value)] as const;
  });
}

/** @throws VALIDATION_ERROR for a text other than "true" or "false" in any case */
function activeOf(value: string | boolean): boolean {
  const text = String(value).toLowerCase();
  if (text !== 'true' && text !== 'false') throw scimFault('invalidFilter', 'active is compared with true or false.');
  return text === 'true';
}
