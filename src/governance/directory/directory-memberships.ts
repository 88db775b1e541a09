import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import { requireFound, scimFault, unavailable } from '../../core/errors/domain-error';
import type { Caller } from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { AGENT } from '../agents/agent.entity';
import { DirectoryUsers } from '../agents/directory-users';
import { DirectoryGroups, insertGroup, MAX_GROUPS, removeGroup, updateGroup } from './directory-groups';
import type { DirectoryGroup } from './directory-group.entity';
import { CHUNK, DirectoryRoles } from './directory-roles';
import { groupFault } from './person-rules';
import type { MemberChange } from './scim-input';
import type { ScimGroup } from './scim-schema';

/**
 * Groups as the directory defines them, and the roles of their members. A change of many members takes several commits.
 */
@Injectable()
export class DirectoryMemberships {
  constructor(
    private readonly ledger: LedgerService,
    private readonly groups: DirectoryGroups,
    private readonly users: DirectoryUsers,
    private readonly roles: DirectoryRoles,
  ) {}

  /** @throws NOT_FOUND */
  async get(id: string): Promise<DirectoryGroup> {
    return requireFound(await this.groups.findBy('id', id), 'group');
  }

  /** @throws VALIDATION_ERROR; CONFLICT for an id or a name that is taken, or one group too many */
  async create(caller: Caller, input: ScimGroup, members: ReadonlySet<string>): Promise<DirectoryGroup> {
    requireValid(input);
    await this.requireMembers(members);
    const id = `grp_${ulid()}`;
    const { displayName, externalId = null } = input;
    const group = await this.ledger.write(caller, async (transaction) => {
      const { now } = transaction;
      await this.requireFree(input, id);
      const { total } = await this.groups.page([], { offset: 0, limit: 1 });
      if (total >= MAX_GROUPS) throw scimFault('uniqueness', `There are at most ${MAX_GROUPS} groups.`);
      const row = { id, displayName, externalId, createdAt: now, updatedAt: now };
      transaction.writeWithoutEntry(insertGroup(row));
      return row;
    });
    await this.join(caller, group, [...members]);
    return group;
  }

  /** Changes a group; writes nothing if nothing changes. @throws NOT_FOUND; VALIDATION_ERROR; CONFLICT */
  async change(caller: Caller, id: string, input: ScimGroup, change: MemberChange): Promise<DirectoryGroup> {
    requireValid(input);
    const before = await this.get(id);
    const members = new Set(await this.groups.membersOf(id));
    const newcomers = [...change.added].filter((member) => !members.has(member));
    const leavers = [...(change.replacesAll ? members : change.removed)].filter(
      (member) => members.has(member) && !change.added.has(member),
    );
    await this.requireMembers(new Set(newcomers));
    const { externalId = null } = input;
    // The roles precede the name: a request that is repeated after a fault finds the same difference, and goes on.
    if (externalId !== before.externalId) await this.roles.refollow([...members], { id, externalId });
    const group = await this.rename(caller, before, input);
    await this.leave(caller, group, leavers);
    await this.join(caller, group, newcomers);
    return group;
  }

  /** @throws NOT_FOUND */
  async remove(caller: Caller, id: string): Promise<void> {
    const group = await this.get(id);
    // Another replica may let people join meanwhile.
    for (let members = await this.groups.membersOf(id); members.length > 0; members = await this.groups.membersOf(id))
      await this.leave(caller, group, members);
    await this.ledger.write(caller, async (transaction) => {
      await this.get(id);
      if ((await this.groups.membersOf(id)).length > 0)
        throw unavailable('Somebody joined the group while it was removed. Repeat the request.');
      for (const statement of removeGroup(id)) transaction.writeWithoutEntry(statement);
    });
  }

  /** Changes what differs from `before`: another replica may have changed the other name since. */
  private async rename(caller: Caller, before: DirectoryGroup, input: ScimGroup): Promise<DirectoryGroup> {
    const { displayName, externalId = null } = input;
    const changes = {
      ...(displayName !== before.displayName && { displayName }),
      ...(externalId !== before.externalId && { externalId }),
    };
    if (Object.keys(changes).length === 0) return before;
    return this.ledger.write(caller, async (transaction) => {
      const row = { ...(await this.get(before.id)), ...changes, updatedAt: transaction.now };
      await this.requireFree({ ...input, ...namesOf(row) }, before.id);
      transaction.writeWithoutEntry(updateGroup(row));
      return row;
    });
  }

  private async join(caller: Caller, group: DirectoryGroup, members: readonly string[]): Promise<void> {
    for (const some of chunksOf(members)) await this.moveMembers(caller, group, some, true);
  }

  private async leave(caller: Caller, group: DirectoryGroup, members: readonly string[]): Promise<void> {
    for (const some of chunksOf(members)) await this.moveMembers(caller, group, some, false);
  }

  /** @param isJoining false if the members leave */
  private moveMembers(
    caller: Caller,
    { id: groupId }: DirectoryGroup,
    members: readonly string[],
    isJoining: boolean,
  ): Promise<void> {
    return this.ledger.write(caller, async (transaction) => {
      const { groups } = this;
      // Another replica may have removed the group, or a person, since the request began.
      const group = await this.get(groupId);
      if (isJoining) await this.requireMembers(new Set(members));
      transaction.writeWithoutEntry(
        isJoining ? groups.addMembers(group.id, members) : groups.removeMembers(group.id, members),
      );
      transaction.writeWithoutEntry(updateGroup({ ...group, updatedAt: transaction.now }));
      if (this.roles.rolesOf(group).size === 0) return;
      const groupsBefore = await groups.groupsAmong(members);
      for (const id of members) {
        const others = (groupsBefore.get(id) ?? []).filter((other) => other.id !== group.id);
        const agent = await transaction.find(AGENT, id);
        if (agent !== undefined) this.roles.follow(transaction, agent, isJoining ? [...others, group] : others);
      }
    });
  }

  /** @throws CONFLICT */
  private async requireFree({ displayName, externalId }: ScimGroup, ownId: string): Promise<void> {
    const namesake = await this.groups.findBy('displayName', displayName);
    if (namesake !== undefined && namesake.id !== ownId)
      throw scimFault('uniqueness', 'Another group has this displayName already.');
    const other = externalId === undefined ? undefined : await this.groups.findBy('externalId', externalId);
    if (other !== undefined && other.id !== ownId)
      throw scimFault('uniqueness', 'Another group has this externalId already.');
  }

  /** @throws VALIDATION_ERROR if a member is no user */
  private async requireMembers(members: ReadonlySet<string>): Promise<void> {
    if (members.size === 0) return;
    const present = await this.users.findPresentUsers([...members]);
    const unknown = [...members].find((id) => !present.has(id));
    if (unknown !== undefined)
      throw scimFault('invalidValue', `Members must be users: there is none with the id ${JSON.stringify(unknown)}.`);
  }
}

function namesOf({ displayName, externalId }: DirectoryGroup): Pick<ScimGroup, 'displayName' | 'externalId'> {
  return { displayName, externalId: externalId ?? undefined };
}

function requireValid(input: ScimGroup): void {
  const fault = groupFault(input);
  if (fault !== undefined) throw scimFault('invalidValue', fault);
}

function chunksOf(ids: readonly string[]): (readonly string[])[] {
  return Array.from({ length: Math.ceil(ids.length / CHUNK) }, (_, index) =>
    ids.slice(index * CHUNK, (index + 1) * CHUNK),
  );
}
