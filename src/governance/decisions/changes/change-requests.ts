import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { JsonObject } from '../../../core/json/json-value';
import type { Database } from '../../../ledger/database/database';
import type { SqlStatement } from '../../../ledger/database/sql-connection';

/**
 * The last request for each change, stored next to its decision: with its body until the decision is settled, and
 * afterwards only with its owner. It is not a record, so no entry and no export has the body.
 */
@Entity('change_requests')
@Index(['decisionId'])
export class ChangeRequest {
  /** Hex SHA-256 of caller, method, path and body. */
  @PrimaryColumn('text')
  readonly requestHash!: string;

  @Column('text')
  readonly decisionId!: string;

  /** JSON. */
  @Column('text', { nullable: true })
  readonly body!: string | null;
}

/** Mark, set once, that two people could approve changes. */
@Entity('change_marks')
export class ChangeMark {
  @PrimaryColumn('text')
  readonly id!: string;

  @Column('text')
  readonly markedAt!: string;
}

const AWAKE = 'two_people';
const KEEP =
  'INSERT INTO "change_requests" ("requestHash", "decisionId", "body") VALUES ($1, $2, $3) ' +
  'ON CONFLICT ("requestHash") DO UPDATE SET "decisionId" = excluded."decisionId", "body" = excluded."body"';
const FORGET_BODY = 'UPDATE "change_requests" SET "body" = NULL WHERE "decisionId" = $1';
const REMOVE = 'DELETE FROM "change_requests" WHERE "decisionId" = $1';
const SELECT_DECISION = 'SELECT "decisionId" FROM "change_requests" WHERE "requestHash" = $1';
const SELECT_BODY = 'SELECT "body" FROM "change_requests" WHERE "decisionId" = $1';
const MARK = 'INSERT INTO "change_marks" ("id", "markedAt") VALUES ($1, $2) ON CONFLICT ("id") DO NOTHING';
const SELECT_MARK = 'SELECT "id" FROM "change_marks" WHERE "id" = $1';

type Points = Pick<Database, 'points'>;

export function keepRequest(requestHash: string, decisionId: string, body: JsonObject): SqlStatement {
  return { sql: KEEP, parameters: [requestHash, decisionId, JSON.stringify(body)] };
}

/** Returns the statement that removes the body of a request, and keeps the row by which its decision is found. */
export function forgetBody(decisionId: string): SqlStatement {
  return { sql: FORGET_BODY, parameters: [decisionId] };
}

export function removeRequest(decisionId: string): SqlStatement {
  return { sql: REMOVE, parameters: [decisionId] };
}

export function markAwake(now: string): SqlStatement {
  return { sql: MARK, parameters: [AWAKE, now] };
}

export async function isMarkedAwake({ points }: Points): Promise<boolean> {
  return (await points.all<Pick<ChangeMark, 'id'>>(SELECT_MARK, [AWAKE])).length > 0;
}

/**
 * Returns the id of the decision on the last request with this hash. A batch ends with a command that writes without an
 * entry, so later commands see it.
 */
export async function decisionOfRequest({ points }: Points, requestHash: string): Promise<string | undefined> {
  const [row] = await points.all<Pick<ChangeRequest, 'decisionId'>>(SELECT_DECISION, [requestHash]);
  return row?.decisionId;
}

/** Returns the body; undefined once the decision is settled. */
export async function bodyOfChange({ points }: Points, decisionId: string): Promise<JsonObject | undefined> {
  const [row] = await points.all<Pick<ChangeRequest, 'body'>>(SELECT_BODY, [decisionId]);
  const body = row?.body ?? null;
  return body === null ? undefined : (JSON.parse(body) as JsonObject);
}
