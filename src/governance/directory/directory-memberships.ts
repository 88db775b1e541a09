import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import { inSeveralCommits, requireFound, scimFault } from '../../core/errors/domain-error';
import type { ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import type { Caller } from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { DirectoryUsers } from '../agents/directory-users';
import { DirectoryGroups, insertGroup, MAX_GROUPS, removeGroup, updateGroup } from './directory-groups';
import type { DirectoryGroup } from './directory-group.entity';
import { CHUNK_SIZE, DirectoryRoles, peopleChunks } from './directory-roles';
import { groupFault } from './person-rules';
import type { MemberChange } from './scim-input';
import type { ScimGroup } from './scim-schema';

/** A PATCH or PUT of a group. */
export interface GroupChange {
  /**
   * Returns the new content of the group. Called with the group as it is in the command, because another replica may
   * have changed the group since the request.
   */
  readonly inputFor: (group: DirectoryGroup) => ScimGroup | Promise<ScimGroup>;
  readonly members: MemberChange;
  /** True if the request gives or removes the id in the directory, on which the roles of all members depend. */
  readonly namesExternalId: boolean;
}

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
    return inSeveralCommits(async () => {
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
    });
  }

  /** Changes a group; writes nothing if nothing changes. @throws NOT_FOUND; VALIDATION_ERROR; CONFLICT */
  async change(
    caller: Caller,
    id: string,
    { inputFor, members, namesExternalId }: GroupChange,
  ): Promise<DirectoryGroup> {
    await this.get(id);
    const membersBefore = new Set(await this.groups.membersOf(id));
    const newcomers = [...members.added].filter((member) => !membersBefore.has(member));
    const leavers = [...(members.replacesAll ? membersBefore : members.removed)].filter(
      (member) => membersBefore.has(member) && !members.added.has(member),
    );
    await this.requireMembers(new Set(newcomers));
    return inSeveralCommits(async () => {
      const group = await this.rename(caller, id, inputFor);
      await this.leave(caller, group, leavers);
      await this.join(caller, group, newcomers);
      // Roles are compared even if the id stays: perhaps an earlier attempt has changed it, and failed before all roles
      // followed.
      if (namesExternalId) await this.roles.updateRoles(await this.groups.membersOf(id));
      return group;
    });
  }

  /** @throws NOT_FOUND */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.get(id);
    await inSeveralCommits(async () => {
      for (let isGone = false; !isGone;) isGone = await this.removeSome(caller, id);
    });
  }

  /** Lets the first members leave; removes the group, and returns true, if there are no others. */
  private removeSome(caller: Caller, id: string): Promise<boolean> {
    return this.ledger.write(caller, async (transaction) => {
      const group = await this.get(id);
      const members = await this.groups.membersOf(id, CHUNK_SIZE + 1);
      const leavers = members.slice(0, CHUNK_SIZE);
      await this.followGroup(transaction, group, leavers, false);
      const isLast = members.length <= CHUNK_SIZE;
      const statements = isLast ? removeGroup(id) : [this.groups.removeMembers(id, leavers)];
      for (const statement of statements) transaction.writeWithoutEntry(statement);
      return isLast;
    });
  }

  private rename(caller: Caller, id: string, inputFor: GroupChange['inputFor']): Promise<DirectoryGroup> {
    return this.ledger.write(caller, async (transaction) => {
      const before = await this.get(id);
      const input = await inputFor(before);
      requireValid(input);
      const { displayName, externalId = null } = input;
      if (displayName === before.displayName && externalId === before.externalId) return before;
      await this.requireFree(input, id);
      const row = { ...before, displayName, externalId, updatedAt: transaction.now };
      transaction.writeWithoutEntry(updateGroup(row));
      return row;
    });
  }

  private async join(caller: Caller, group: DirectoryGroup, members: readonly string[]): Promise<void> {
    for (const some of peopleChunks(members)) await this.moveMembers(caller, group, some, true);
  }

  private async leave(caller: Caller, group: DirectoryGroup, members: readonly string[]): Promise<void> {
    for (const some of peopleChunks(members)) await this.moveMembers(caller, group, some, false);
  }

  /** @param isJoining false if the members leave */
  private moveMembers(
    caller: Caller,
    { id }: DirectoryGroup,
    members: readonly string[],
    isJoining: boolean,
  ): Promise<void> {
    return this.ledger.write(caller, async (transaction) => {
      const { groups } = this;
      // Another replica may have removed the group, or a person, since the request began.
      const group = await this.get(id);
      if (isJoining) await this.requireMembers(new Set(members));
      transaction.writeWithoutEntry(isJoining ? groups.addMembers(id, members) : groups.removeMembers(id, members));
      transaction.writeWithoutEntry(updateGroup({ ...group, updatedAt: transaction.now }));
      await this.followGroup(transaction, group, members, isJoining);
    });
  }

  /** Updates the roles of people who join a group, or leave it, in the same command. */
  private async followGroup(
    transaction: ServiceTransaction,
    group: DirectoryGroup,
    members: readonly string[],
    isJoining: boolean,
  ): Promise<void> {
    if (members.length === 0 || this.roles.rolesOf(group).size === 0) return;
    const groupsBefore = await this.groups.groupsAmong(members);
    await this.roles.setAllRoles(transaction, members, (id) => {
      const others = (groupsBefore.get(id) ?? []).filter((other) => other.id !== group.id);
      return isJoining ? [...others, group] : others;
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

function requireValid(input: ScimGroup): void {
  const fault = groupFault(input);
  if (fault !== undefined) throw scimFault('invalidValue', fault);
}
