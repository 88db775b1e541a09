import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import type { ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import { SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { RecordReader } from '../../ledger/reading/record-reader';
import { type Agent, AGENT, nextRevision } from '../agents/agent.entity';
import { DirectoryUsers } from '../agents/directory-users';
import { followingRoles, managedRoles } from '../agents/managed-roles';
import { DirectoryGroups, type GroupKey } from './directory-groups';

/** Most people whose roles are compared, and changed in one commit, for which everybody else's writes wait. */
export const CHUNK_SIZE = 100;

/** Lets the roles in DIRECTORY_ROLES follow the groups of the directory, at the start as well. */
@Injectable()
export class DirectoryRoles implements OnApplicationBootstrap {
  private readonly logger = new Logger('Directory');
  private readonly rolesByGroup: ReadonlyMap<string, readonly string[]>;
  private readonly managed: ReadonlySet<string>;

  constructor(
    private readonly ledger: LedgerService,
    private readonly records: RecordReader,
    private readonly users: DirectoryUsers,
    private readonly groups: DirectoryGroups,
    { directoryRoles }: Configuration,
  ) {
    this.rolesByGroup = new Map(Object.entries(directoryRoles));
    this.managed = managedRoles(directoryRoles);
  }

  /** The groups, or the setting, may have changed while this process did not run. */
  async onApplicationBootstrap(): Promise<void> {
    if (this.managed.size === 0) return;
    let changed = 0;
    for (let last: string | undefined = ''; last !== undefined;) {
      const ids = await this.users.idsAfter(last, CHUNK_SIZE);
      changed += await this.followAmong(ids);
      last = ids.at(-1);
    }
    if (changed > 0) this.logger.log(`${changed} people have other roles by DIRECTORY_ROLES than before.`);
  }

  /** The roles of a group's members, without repetition. */
  rolesOf({ id, externalId }: GroupKey): ReadonlySet<string> {
    const byId = this.rolesByGroup.get(id) ?? [];
    return new Set([...byId, ...((externalId === null ? undefined : this.rolesByGroup.get(externalId)) ?? [])]);
  }

  /** Gives a person the roles of these groups, and removes those of other groups; the entry is the system's. */
  follow(transaction: ServiceTransaction, agent: Agent, groups: readonly GroupKey[]): Agent {
    const roles = this.rolesIn(agent, groups);
    if (roles === agent.roles) return agent;
    const details = { fields: ['roles'] };
    const changed = { ...agent, roles, ...nextRevision(agent, transaction.now) };
    return transaction.update(AGENT, changed, {
      ...{ action: 'agent.updated', agentId: agent.id, details },
      bySystem: true,
    });
  }

  private rolesIn({ roles }: Agent, groups: readonly GroupKey[]): readonly string[] {
    const ofGroups = new Set(groups.flatMap((group) => [...this.rolesOf(group)]));
    return followingRoles(roles, ofGroups, this.managed);
  }

  /**
   * Lets the roles of these people follow their groups as they are now. Only people whose roles differ are read again
   * in a command.
   * @returns the number of people who have other roles
   */
  async followAmong(ids: readonly string[]): Promise<number> {
    if (this.managed.size === 0) return 0;
    let changed = 0;
    for (const some of peopleChunks(ids)) changed += await this.followSome(some);
    return changed;
  }

  /** Does what `follow` does, for several people. */
  async followAll(
    transaction: ServiceTransaction,
    ids: readonly string[],
    groupsOf: (id: string) => readonly GroupKey[],
  ): Promise<void> {
    const keys = ids.map((id) => [id]);
    for (const agent of await transaction.findAmong(AGENT, ['id'], keys))
      this.follow(transaction, agent, groupsOf(agent.id));
  }

  private async followSome(ids: readonly string[]): Promise<number> {
    const keys = ids.map((id) => [id]);
    const agents = await this.records.allAmong(AGENT, ['id'], keys);
    const groups = await this.groups.groupsAmong(ids);
    const outdated = agents.filter((agent) => this.rolesIn(agent, groups.get(agent.id) ?? []) !== agent.roles);
    if (outdated.length === 0) return 0;
    const outdatedIds = outdated.map(({ id }) => id);
    await this.ledger.write(SYSTEM_CALLER, async (transaction) => {
      const current = await this.groups.groupsAmong(outdatedIds);
      await this.followAll(transaction, outdatedIds, (id) => current.get(id) ?? []);
    });
    return outdated.length;
  }
}

/** Divides people by the commits that change them. */
export function peopleChunks(ids: readonly string[]): (readonly string[])[] {
  return Array.from({ length: Math.ceil(ids.length / CHUNK_SIZE) }, (_, index) =>
    ids.slice(index * CHUNK_SIZE, (index + 1) * CHUNK_SIZE),
  );
}
