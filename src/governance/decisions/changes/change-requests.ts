import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { JsonObject } from '../../../core/json/json-value';
import type { Database } from '../../../ledger/database/database';
import type { SqlStatement } from '../../../ledger/database/sql-connection';

/**
 * The last request for each change, beside its decision: its body until the decision is settled, and then only whose it
 * is. It is not a record, so that no entry and no export has the body.
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

/** Notes once and for all that two people could approve changes. */
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

/** An approved request is still found; its body is forgotten. */
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

/** The decision of the last such request. A batch ends with a command that writes aside, so a command sees it. */
export async function decisionOfRequest({ points }: Points, requestHash: string): Promise<string | undefined> {
  const [row] = await points.all<Pick<ChangeRequest, 'decisionId'>>(SELECT_DECISION, [requestHash]);
  return row?.decisionId;
}

/** Undefined once the decision is settled. */
export async function bodyOfChange({ points }: Points, decisionId: string): Promise<JsonObject | undefined> {
  const [row] = await points.all<Pick<ChangeRequest, 'body'>>(SELECT_BODY, [decisionId]);
  const body = row?.body ?? null;
  return body === null ? undefined : (JSON.parse(body) as JsonObject);
}
