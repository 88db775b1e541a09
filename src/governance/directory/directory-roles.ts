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

/** Most people whose roles one commit compares and changes: all other writes wait for the commit. */
export const CHUNK_SIZE = 100;

/**
 * Gives people the roles that DIRECTORY_ROLES derives from their groups in the directory, and takes these roles away.
 * Updates the roles of all people at the start.
 */
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

  /** Updates all people, because groups or the setting may have changed while this process did not run. */
  async onApplicationBootstrap(): Promise<void> {
    if (this.managed.size === 0) return;
    let changed = 0;
    for (let last: string | undefined = ''; last !== undefined;) {
      const ids = await this.users.idsAfter(last, CHUNK_SIZE);
      changed += await this.updateRoles(ids);
      last = ids.at(-1);
    }
    if (changed > 0) this.logger.log(`DIRECTORY_ROLES has changed the roles of ${changed} people.`);
  }

  /** Returns the roles that the members of a group have, each once. */
  rolesOf({ id, externalId }: GroupKey): ReadonlySet<string> {
    const byId = this.rolesByGroup.get(id) ?? [];
    return new Set([...byId, ...((externalId === null ? undefined : this.rolesByGroup.get(externalId)) ?? [])]);
  }

  /**
   * Returns a person with the roles of their groups in place of those of other groups. The entry names the system as
   * the actor.
   */
  setRoles(transaction: ServiceTransaction, agent: Agent, groups: readonly GroupKey[]): Agent {
    const roles = this.newRoles(agent, groups);
    if (roles === agent.roles) return agent;
    const details = { fields: ['roles'] };
    const changed = { ...agent, roles, ...nextRevision(agent, transaction.now) };
    return transaction.update(AGENT, changed, {
      ...{ action: 'agent.updated', agentId: agent.id, details },
      bySystem: true,
    });
  }

  private newRoles({ roles }: Agent, groups: readonly GroupKey[]): readonly string[] {
    const ofGroups = new Set(groups.flatMap((group) => [...this.rolesOf(group)]));
    return followingRoles(roles, ofGroups, this.managed);
  }

  /**
   * Updates the roles of people by the groups that they are in now. A command reads only people whose roles differ.
   * @returns the number of people whose roles changed
   */
  async updateRoles(ids: readonly string[]): Promise<number> {
    if (this.managed.size === 0) return 0;
    let changed = 0;
    for (const some of peopleChunks(ids)) changed += await this.updateChunk(some);
    return changed;
  }

  /**
   * Updates the roles of several people by their groups, inside a command.
   * @param groupsOf returns the groups of the person with this id
   */
  async setAllRoles(
    transaction: ServiceTransaction,
    ids: readonly string[],
    groupsOf: (id: string) => readonly GroupKey[],
  ): Promise<void> {
    const keys = ids.map((id) => [id]);
    for (const agent of await transaction.findAmong(AGENT, ['id'], keys))
      this.setRoles(transaction, agent, groupsOf(agent.id));
  }

  private async updateChunk(ids: readonly string[]): Promise<number> {
    const keys = ids.map((id) => [id]);
    const agents = await this.records.allAmong(AGENT, ['id'], keys);
    const groups = await this.groups.groupsAmong(ids);
    const outdated = agents.filter((agent) => this.newRoles(agent, groups.get(agent.id) ?? []) !== agent.roles);
    if (outdated.length === 0) return 0;
    const outdatedIds = outdated.map(({ id }) => id);
    await this.ledger.write(SYSTEM_CALLER, async (transaction) => {
      const current = await this.groups.groupsAmong(outdatedIds);
      await this.setAllRoles(transaction, outdatedIds, (id) => current.get(id) ?? []);
    });
    return outdated.length;
  }
}

/** Divides ids of people into chunks, each of which one commit changes. */
export function peopleChunks(ids: readonly string[]): (readonly string[])[] {
  return Array.from({ length: Math.ceil(ids.length / CHUNK_SIZE) }, (_, index) =>
    ids.slice(index * CHUNK_SIZE, (index + 1) * CHUNK_SIZE),
  );
}
