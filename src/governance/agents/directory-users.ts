import { Injectable } from '@nestjs/common';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { Database } from '../../ledger/database/database';
import type { Dialect } from '../../ledger/database/dialect';
import type { SqlStatement, SqlValue } from '../../ledger/database/sql-connection';
import { arraysOfOne } from '../../ledger/records/statements';
import { normalFormC } from '../../core/values/normal-form';

/**
 * A person as a directory describes them, stored outside the ledger. The row survives the person's removal from the
 * directory, without `userName` and `displayName`.
 */
@Entity('directory_users')
export class DirectoryUser {
  @PrimaryColumn('text')
  readonly agentId!: string;

  @Index({ unique: true })
  @Column('text')
  readonly externalId!: string;

  /** Empty once the directory has removed the person. */
  @Column('text')
  readonly userName!: string;

  /** `userName` as `userNameKey` makes it, unique; null once the directory has removed the person. */
  @Index({ unique: true })
  @Column('text', { nullable: true })
  readonly userNameKey!: string | null;

  @Column('text', { nullable: true })
  readonly displayName!: string | null;

  /** 1 if the person is active in the directory, else 0. */
  @Column('integer')
  readonly isActive!: number;

  /** 1 if somebody other than the directory suspended the person, whom the directory then does not resume. */
  @Column('integer')
  readonly isHeld!: number;

  /** 1 once the directory has removed the person. */
  @Column('integer')
  readonly isDeleted!: number;

  @Column('text')
  readonly createdAt!: string;

  @Column('text')
  readonly updatedAt!: string;
}

const COLUMNS = [
  ...['agentId', 'externalId', 'userName', 'userNameKey', 'displayName'],
  ...['isActive', 'isHeld', 'isDeleted', 'createdAt', 'updatedAt'],
] as const satisfies readonly (keyof DirectoryUser)[];
const NAMES = COLUMNS.map((name) => `"${name}"`).join(', ');
const SELECT = `SELECT ${NAMES} FROM "directory_users"`;
const SAVE =
  `INSERT INTO "directory_users" (${NAMES}) VALUES (${COLUMNS.map((_, index) => `$${index + 1}`).join(', ')}) ` +
  `ON CONFLICT ("agentId") DO UPDATE SET ${COLUMNS.slice(1)
    .map((name) => `"${name}" = excluded."${name}"`)
    .join(', ')}`;

/** Equality conditions, on columns that the filter of a request may name. */
export type UserFilter = readonly (readonly [
  'userNameKey' | 'externalId' | 'displayName' | 'isActive',
  string | number,
])[];

export interface UserPage {
  readonly rows: readonly DirectoryUser[];
  readonly total: number;
}

/** SQL that selects the texts in a parameter made by `arraysOfOne`, each preceded by the expressions `before`. */
export function textListSql(dialect: Dialect, parameter = '$1', ...before: readonly string[]): string {
  const text = dialect.jsonAt(0, { name: 'text', type: 'text' });
  return `SELECT ${[...before, text].join(', ')} FROM ${dialect.jsonElements(parameter)}`;
}

/** Normalises a `userName` for comparison: Unicode normal form C, lower case. */
export function userNameKey(userName: string): string {
  return normalFormC(userName).toLowerCase();
}

/**
 * Reads the people of the directory. A batch ends after a command that saves a row, so that later commands see the row.
 */
@Injectable()
export class DirectoryUsers {
  constructor(private readonly database: Database) {}

  findBy(column: 'agentId' | 'externalId' | 'userNameKey', value: string): Promise<DirectoryUser | undefined> {
    return this.database.points.all<DirectoryUser>(`${SELECT} WHERE "${column}" = $1`, [value]).then(([row]) => row);
  }

  /** The ids among `agentIds` of people whom the directory has not removed. */
  async findPresentUsers(agentIds: readonly string[]): Promise<ReadonlySet<string>> {
    const { dialect, points } = this.database;
    const sql = `${SELECT} WHERE "isDeleted" = 0 AND "agentId" IN (${textListSql(dialect)})`;
    const rows = await points.all<DirectoryUser>(sql, [arraysOfOne(agentIds)]);
    return new Set(rows.map(({ agentId }) => agentId));
  }

  /** People in the directory, in the order of their ids. */
  async page(filter: UserFilter, { offset, limit }: Readonly<Record<'offset' | 'limit', number>>): Promise<UserPage> {
    const conditions = ['"isDeleted" = 0', ...filter.map(([name], index) => `"${name}" = $${index + 1}`)];
    const where = `WHERE ${conditions.join(' AND ')}`;
    const values: readonly SqlValue[] = filter.map(([, value]) => value);
    const { lists } = this.database;
    const [counted] = await lists.all<{ total: number }>(
      `SELECT CAST(COUNT(*) AS integer) AS "total" FROM "directory_users" ${where}`,
      values,
    );
    const bounds = `ORDER BY "agentId" LIMIT $${values.length + 1} OFFSET $${values.length + 2}`;
    const rows = await lists.all<DirectoryUser>(`${SELECT} ${where} ${bounds}`, [...values, limit, offset]);
    return { rows, total: counted?.total ?? 0 };
  }

  /** Ids of people after `agentId`, in order, at most `limit`; includes people whom the directory has removed. */
  async idsAfter(agentId: string, limit: number): Promise<readonly string[]> {
    const sql = 'SELECT "agentId" FROM "directory_users" WHERE "agentId" > $1 ORDER BY "agentId" LIMIT $2';
    return (await this.database.points.all<{ agentId: string }>(sql, [agentId, limit])).map((row) => row.agentId);
  }
}

/** Returns the statement that inserts or replaces the row of a person. */
export function saveUser(user: DirectoryUser): SqlStatement {
  return { sql: SAVE, parameters: COLUMNS.map((name) => user[name]) };
}

/**
 * Returns the statement that deletes the row of a person whom the directory has removed, and whose agent is now bound
 * to another id in the directory, or to none.
 */
export function forgetUser(agentId: string): SqlStatement {
  return { sql: 'DELETE FROM "directory_users" WHERE "agentId" = $1', parameters: [agentId] };
}
