import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { ApiMember, ApiNullableTime } from '../../../http/openapi/response-members';
import { newEpoch } from '../../../ledger/chain/random';
import { Database } from '../../../ledger/database/database';
import { isFault } from '../../../ledger/database/database-fault';
import { quoteName } from '../../../ledger/database/dialect';
import type { SqlStatement } from '../../../ledger/database/sql-connection';
import { columnsOf } from '../../../ledger/records/record-codec';

/**
 * The delivery position of an endpoint. A delivery changes no record, and nothing is hashed here, so the position is
 * written outside the ledger, except when a caller sets it.
 */
@Entity('webhook_standings')
export class DeliveryPosition {
  @PrimaryColumn('text')
  readonly webhookId!: string;

  @Column('bigint')
  @ApiMember('Sequence of the last entry that no longer needs delivery.', { type: 'integer', example: 1 })
  readonly sequence!: number;

  /**
   * Random number that changes whenever somebody sets the position, which invalidates the deliverer's earlier state.
   */
  @Column('bigint')
  readonly epoch!: number;

  /**
   * The ledger's last sequence at the last replay, whose filter selects the entries up to it; null if there was none.
   */
  @Column('bigint', { nullable: true })
  readonly replayHead!: number | null;

  /** Term of the lease under which it was written. */
  @Column('bigint')
  readonly term!: number;

  /** Number of failed attempts to deliver one entry to one URL. */
  @Column('integer')
  readonly attempts!: number;

  /** Time of the first failed attempt; all times are in ISO 8601. */
  @Column('text', { nullable: true })
  readonly failingSince!: string | null;

  /** Sequence of the entry whose attempts failed; null, like `failingUrl`, if nothing is failing. */
  @Column('bigint', { nullable: true })
  readonly failingSequence!: number | null;

  @Column('text', { nullable: true })
  readonly failingUrl!: string | null;

  @Column('text', { nullable: true })
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly lastAttemptAt!: string | null;

  @Column('integer', { nullable: true })
  @ApiMember('Null: there was no answer.', { type: 'integer', nullable: true, example: null })
  readonly lastStatus!: number | null;

  /** Null after a failure if the endpoint was given up. */
  @Column('text', { nullable: true })
  @ApiNullableTime('Null: no retry is pending.')
  readonly nextAttemptAt!: string | null;
}

/** Members about failures while there are none. */
export const NO_FAILURES = {
  attempts: 0,
  failingSince: null,
  failingSequence: null,
  failingUrl: null,
  nextAttemptAt: null,
} as const;

const COLUMNS = columnsOf(DeliveryPosition);
const NAMES = COLUMNS.map(({ name }) => quoteName(name)).join(', ');
const SELECT = `SELECT ${NAMES} FROM "webhook_standings"`;
const DELETE = `DELETE FROM "webhook_standings" WHERE "webhookId" = $1`;

/** Milliseconds after which a failed write is retried. */
const RETRY = 500;

/** Writes, with repeated attempts while the database is unavailable, as long as this process delivers. */
export async function writeWhile<Written>(mayWrite: () => boolean, write: () => Promise<Written>): Promise<Written> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!mayWrite() || isFault(error, 'constraint', 'storage', 'programming')) throw error;
    }
    await sleep(RETRY);
  }
}

/** The delivery positions of endpoints: written outside the ledger, except for those that callers set. */
@Injectable()
export class DeliveryProgressStore {
  private readonly upsert: string;

  constructor(private readonly database: Database) {
    const { dialect } = database;
    const values = COLUMNS.map((column, index) => dialect.jsonAt(index, column)).join(', ');
    const assignments = COLUMNS.slice(1).map(({ name }) => `${quoteName(name)} = excluded.${quoteName(name)}`);
    this.upsert =
      `INSERT INTO "webhook_standings" (${NAMES}) SELECT ${values} FROM ${dialect.jsonElements('$1')} WHERE 1 = 1 ` +
      `ON CONFLICT ("webhookId") DO UPDATE SET ${assignments.join(', ')} ` +
      `WHERE "webhook_standings"."epoch" = excluded."epoch" AND "webhook_standings"."term" <= excluded."term" ` +
      `RETURNING "webhookId"`;
  }

  async all(): Promise<ReadonlyMap<string, DeliveryPosition>> {
    const rows = await this.database.points.all<DeliveryPosition>(SELECT);
    return new Map(rows.map((row) => [row.webhookId, row]));
  }

  async find(webhookId: string): Promise<DeliveryPosition | undefined> {
    const [row] = await this.database.points.all<DeliveryPosition>(`${SELECT} WHERE "webhookId" = $1`, [webhookId]);
    return row;
  }

  /** Returns the ids of the written positions. A caller has since set the others, or they belong to another process. */
  async write(all: readonly DeliveryPosition[]): Promise<ReadonlySet<string>> {
    const rows = all.map((progress) => COLUMNS.map(({ name }) => progress[name as keyof DeliveryPosition]));
    const written = await this.database.sideConnection.all<{ webhookId: string }>(this.upsert, [JSON.stringify(rows)]);
    return new Set(written.map(({ webhookId }) => webhookId));
  }

  async forget(webhookId: string): Promise<void> {
    await this.database.sideConnection.all(DELETE, [webhookId]);
  }
}

const START =
  `INSERT INTO "webhook_standings" ("webhookId", "sequence", "replayHead", "epoch", "term", "attempts") ` +
  `VALUES ($1, $2, $3, $4, 0, 0)`;
/** SQL that resets all failures. */
const ANEW =
  `${START} ON CONFLICT ("webhookId") DO UPDATE SET "epoch" = excluded."epoch", "attempts" = 0, ` +
  `"failingSince" = NULL, "failingSequence" = NULL, "failingUrl" = NULL, "nextAttemptAt" = `;
const REPLAY = `${ANEW} NULL, "sequence" = excluded."sequence", "replayHead" = excluded."replayHead"`;
/** SQL that makes a failed delivery due since the last attempt. */
const RESUME =
  `${ANEW} CASE WHEN "webhook_standings"."attempts" > 0 OR "webhook_standings"."nextAttemptAt" IS NOT NULL ` +
  `THEN "webhook_standings"."lastAttemptAt" END`;

/**
 * Makes an endpoint continue after this sequence, even if it was given up.
 * @param head the ledger's last sequence; up to it, the current filter selects the entries
 */
export function replayStatement(webhookId: string, after: number, head: number): SqlStatement {
  return { sql: REPLAY, parameters: [webhookId, after, head, newEpoch()] };
}

/**
 * Makes an endpoint retry at once, without its earlier failures. The outcome of a delivery under way no longer counts.
 * @param start position of an endpoint that has none yet
 */
export function resumeStatement(webhookId: string, start: number): SqlStatement {
  return { sql: RESUME, parameters: [webhookId, start, null, newEpoch()] };
}
