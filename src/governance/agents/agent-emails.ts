import { Injectable } from '@nestjs/common';
import { newEpoch } from '../../ledger/chain/random';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { callerRefused, invalidField, managedByDirectory, scopeMissing } from '../../core/errors/domain-error';
import type { Caller } from '../../ledger/kinds/caller';
import { Database } from '../../ledger/database/database';
import type { SqlStatement } from '../../ledger/database/sql-connection';
import { LedgerService } from '../../ledger/ledger.service';
import { type Agent, AGENT, nextRevision } from './agent.entity';
import { agentFor, agentLookup, findNamedAgent } from './find-agent';
import { textListSql } from './directory-users';
import { arraysOfOne } from '../../ledger/records/statements';

const SELECT = 'SELECT "agentId", "email", "sequence", "epoch", "term", "mailedAt" FROM "mail_recipients"';
const OF_AGENT = 'WHERE "agentId" = $1';
const SET =
  `INSERT INTO "mail_recipients" ("agentId", "email", "sequence", "epoch", "term") VALUES ($1, $2, $3, $4, 0) ` +
  `ON CONFLICT ("agentId") DO UPDATE SET "email" = excluded."email", "epoch" = excluded."epoch"`;
const MOVE =
  `UPDATE "mail_recipients" SET "sequence" = $2, "mailedAt" = $3, "term" = $4 ` +
  `WHERE "agentId" = $1 AND "epoch" = $5 AND "term" <= $4`;
const REMOVE = `DELETE FROM "mail_recipients" ${OF_AGENT}`;

/** Mail addresses of people, visible only to them and to admins. */
@Injectable()
export class AgentEmails {
  constructor(
    private readonly ledger: LedgerService,
    private readonly database: Database,
  ) {}

  all(): Promise<readonly MailRecipient[]> {
    return this.database.points.all<MailRecipient>(SELECT);
  }

  /**
   * Notes that a person had mail, unless the address has changed since, or a process with a later term has sent mail.
   */
  async move({ agentId, sequence, mailedAt, term, epoch }: Omit<MailRecipient, 'email'>): Promise<void> {
    await this.database.sideConnection.all(MOVE, [agentId, sequence, mailedAt, term, epoch]);
  }

  /**
   * Returns a person's address if the caller may see it; undefined for other callers, and for a machine, which has
   * none.
   */
  async shownTo(caller: Caller, agent: Agent): Promise<string | null | undefined> {
    if (agent.kind !== 'human' || !mayKnow(caller, agent.id)) return undefined;
    return this.emailOf(agent);
  }

  /**
   * Sets or removes the address. The entry records only that it has changed.
   * @param email null to remove the address
   * @throws NOT_FOUND; PERMISSION_DENIED; VALIDATION_ERROR for a machine
   */
  async set(caller: Caller, idOrName: string, email: string | null): Promise<void> {
    await this.ledger.withLookups(agentLookup(idOrName)).write(caller, async (transaction) => {
      const agent = agentFor(caller, await findNamedAgent(caller, transaction, idOrName), (id) => {
        if (!mayKnow(caller, id))
          throw caller.agentId === null ? scopeMissing(['admin']) : callerRefused('not_this_agent');
      });
      if (agent.directory !== null) throw managedByDirectory('The address');
      if (email !== null && agent.kind !== 'human')
        throw invalidField('email', 'must be of a person, not of a machine');
      // A batch ends with a command that writes without an entry, so earlier writes are visible here.
      if ((await this.emailOf(agent)) === email) return;
      transaction.writeWithoutEntry(emailChange(agent.id, email, transaction.headSequence));
      const details = { fields: ['email'] };
      // A new `ETag`, so that copies with the previous address are outdated.
      const changed = { ...agent, ...nextRevision(agent, transaction.now) };
      transaction.update(AGENT, changed, { action: 'agent.updated', agentId: agent.id, details });
    });
  }

  /** Returns the address of the person with an id; null if there is none. */
  async emailOf({ id }: Pick<Agent, 'id'>): Promise<string | null> {
    const [row] = await this.database.points.all<MailRecipient>(`${SELECT} ${OF_AGENT}`, [id]);
    return row?.email ?? null;
  }

  /** Returns the addresses of people by their ids. */
  async emailsAmong(agentIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { dialect, points } = this.database;
    const sql = `${SELECT} WHERE "agentId" IN (${textListSql(dialect)})`;
    const rows = await points.all<MailRecipient>(sql, [arraysOfOne(agentIds)]);
    return new Map(rows.map(({ agentId, email }) => [agentId, email]));
  }
}

/** @param head sequence of the last entry; mails are about later ones */
export function emailChange(agentId: string, email: string | null, head: number): SqlStatement {
  if (email === null) return { sql: REMOVE, parameters: [agentId] };
  return { sql: SET, parameters: [agentId, email, head, newEpoch()] };
}

function mayKnow({ agentId, effectiveScopes }: Caller, id: string | undefined): boolean {
  return agentId === id || effectiveScopes.has('admin');
}

/**
 * Mail address of a person, and the last entry about which they had mail. It is not part of the agent, so no state or
 * entry contains it.
 */
@Entity('mail_recipients')
export class MailRecipient {
  @PrimaryColumn('text')
  readonly agentId!: string;

  @Column('text')
  readonly email!: string;

  /** Sequence of the last entry that was searched for decisions that wait for the person. */
  @Column('bigint')
  readonly sequence!: number;

  /** Random number that differs for each address. */
  @Column('bigint')
  readonly epoch!: number;

  /** Term of the lease under which the last mail was sent. */
  @Column('bigint')
  readonly term!: number;

  /** Time of the last mail, in ISO 8601. */
  @Column('text', { nullable: true })
  readonly mailedAt!: string | null;
}
