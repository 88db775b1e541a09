import { Injectable } from '@nestjs/common';
import { Database } from '../../ledger/database/database';
import type { SqlStatement, SqlValue } from '../../ledger/database/sql-connection';
import { textListSql } from '../agents/directory-users';
import type { DirectoryGroup, DirectoryMember } from './directory-group.entity';
import { arraysOfOne } from '../../ledger/records/statements';

const NAMES = '"id", "displayName", "externalId", "createdAt", "updatedAt"';
const SELECT = `SELECT ${NAMES} FROM "directory_groups"`;
const INSERT = `INSERT INTO "directory_groups" (${NAMES}) VALUES ($1, $2, $3, $4, $5)`;
const UPDATE = 'UPDATE "directory_groups" SET "displayName" = $2, "externalId" = $3, "updatedAt" = $4 WHERE "id" = $1';

/** Most groups that are stored. */
export const MAX_GROUPS = 10_000;
/** More members than a group can have. */
const MAX_MEMBERS = 2 ** 31 - 1;

/** Equality conditions on columns by which a directory finds groups. */
export type GroupFilter = readonly (readonly ['externalId' | 'displayName', string])[];

export interface GroupPage {
  readonly rows: readonly DirectoryGroup[];
  readonly total: number;
}

/** Reads the groups of a directory. A batch ends after a command that changes a row, so later commands see it. */
@Injectable()
export class DirectoryGroups {
  constructor(private readonly database: Database) {}

  findBy(column: 'id' | 'externalId' | 'displayName', value: string): Promise<DirectoryGroup | undefined> {
    return this.database.points.all<DirectoryGroup>(`${SELECT} WHERE "${column}" = $1`, [value]).then(([row]) => row);
  }

  async page(filter: GroupFilter, { offset, limit }: Readonly<Record<'offset' | 'limit', number>>): Promise<GroupPage> {
    const conditions = filter.map(([name], index) => `"${name}" = $${index + 1}`).join(' AND ');
    const where = conditions === '' ? '' : `WHERE ${conditions}`;
    const values: readonly SqlValue[] = filter.map(([, value]) => value);
    const { lists } = this.database;
    const [countRow] = await lists.all<{ total: number }>(
      `SELECT CAST(COUNT(*) AS integer) AS "total" FROM "directory_groups" ${where}`,
      values,
    );
    const bounds = `ORDER BY "id" LIMIT $${values.length + 1} OFFSET $${values.length + 2}`;
    const rows = await lists.all<DirectoryGroup>(`${SELECT} ${where} ${bounds}`, [...values, limit, offset]);
    return { rows, total: countRow?.total ?? 0 };
  }

  /** Returns the ids of the members of a group, in order, at most `limit`. */
  async membersOf(groupId: string, limit = MAX_MEMBERS): Promise<readonly string[]> {
    const sql = 'SELECT "agentId" FROM "directory_members" WHERE "groupId" = $1 ORDER BY "agentId" LIMIT $2';
    return (await this.database.points.all<{ agentId: string }>(sql, [groupId, limit])).map(({ agentId }) => agentId);
  }

  /** Returns the number of members of each group; groups without members are missing. */
  async memberCounts(groupIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { dialect, lists } = this.database;
    const sql =
      'SELECT "groupId", CAST(COUNT(*) AS integer) AS "members" FROM "directory_members" ' +
      `WHERE "groupId" IN (${textListSql(dialect)}) GROUP BY "groupId"`;
    const rows = await lists.all<{ groupId: string; members: number }>(sql, [arraysOfOne(groupIds)]);
    return new Map(rows.map(({ groupId, members }) => [groupId, members]));
  }

  /** Returns the groups of each person; people in no group are missing. */
  async groupsAmong(agentIds: readonly string[]): Promise<ReadonlyMap<string, readonly GroupKey[]>> {
    const { dialect, points } = this.database;
    const sql =
      'SELECT member."agentId", member."groupId", grp."externalId" FROM "directory_members" AS member ' +
      'JOIN "directory_groups" AS grp ON grp."id" = member."groupId" ' +
      `WHERE member."agentId" IN (${textListSql(dialect)})`;
    const groups = new Map<string, GroupKey[]>();
    for (const { agentId, groupId: id, externalId } of await points.all<
      DirectoryMember & { externalId: string | null }
    >(sql, [arraysOfOne(agentIds)]))
      groups.set(agentId, [...(groups.get(agentId) ?? []), { id, externalId }]);
    return groups;
  }

  addMembers(groupId: string, agentIds: readonly string[]): SqlStatement {
    const members = textListSql(this.database.dialect, '$2', '$1');
    const sql = `INSERT INTO "directory_members" ("groupId", "agentId") ${members} WHERE true ON CONFLICT DO NOTHING`;
    return { sql, parameters: [groupId, arraysOfOne(agentIds)] };
  }

  removeMembers(groupId: string, agentIds: readonly string[]): SqlStatement {
    const members = textListSql(this.database.dialect, '$2');
    const sql = `DELETE FROM "directory_members" WHERE "groupId" = $1 AND "agentId" IN (${members})`;
    return { sql, parameters: [groupId, arraysOfOne(agentIds)] };
  }
}

/** Ids by which DIRECTORY_ROLES may name a group. */
export type GroupKey = Pick<DirectoryGroup, 'id' | 'externalId'>;

export function insertGroup({ id, displayName, externalId, createdAt, updatedAt }: DirectoryGroup): SqlStatement {
  return { sql: INSERT, parameters: [id, displayName, externalId, createdAt, updatedAt] };
}

export function updateGroup({ id, displayName, externalId, updatedAt }: DirectoryGroup): SqlStatement {
  return { sql: UPDATE, parameters: [id, displayName, externalId, updatedAt] };
}

export function removeGroup(id: string): SqlStatement[] {
  return [
    { sql: 'DELETE FROM "directory_members" WHERE "groupId" = $1', parameters: [id] },
    { sql: 'DELETE FROM "directory_groups" WHERE "id" = $1', parameters: [id] },
  ];
}

/** Removes a person from all groups. */
export function leaveGroups(agentId: string): SqlStatement {
  return { sql: 'DELETE FROM "directory_members" WHERE "agentId" = $1', parameters: [agentId] };
}
