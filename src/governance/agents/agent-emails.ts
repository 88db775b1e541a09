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
const WHERE_AGENT = 'WHERE "agentId" = $1';
const SET =
  `INSERT INTO "mail_recipients" ("agentId", "email", "sequence", "epoch", "term") VALUES ($1, $2, $3, $4, 0) ` +
  `ON CONFLICT ("agentId") DO UPDATE SET "email" = excluded."email", "epoch" = excluded."epoch"`;
const ADVANCE =
  `UPDATE "mail_recipients" SET "sequence" = $2, "mailedAt" = $3, "term" = $4 ` +
  `WHERE "agentId" = $1 AND "epoch" = $5 AND "term" <= $4`;
const REMOVE = `DELETE FROM "mail_recipients" ${WHERE_AGENT}`;

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
   * Stores the sequence up to which entries were searched for a person, and the time of the last mail. Changes nothing
   * if the address has changed since, or if a process with a later term has stored a position.
   */
  async advance({ agentId, sequence, mailedAt, term, epoch }: Omit<MailRecipient, 'email'>): Promise<void> {
    await this.database.sideConnection.all(ADVANCE, [agentId, sequence, mailedAt, term, epoch]);
  }

  /**
   * Returns a person's address, or null if the person has none. Returns undefined if the caller may not see the address
   * or the agent is a machine.
   */
  async visibleEmail(caller: Caller, agent: Agent): Promise<string | null | undefined> {
    if (agent.kind !== 'human' || !maySeeEmail(caller, agent.id)) return undefined;
    return this.emailOf(agent);
  }

  /**
   * Sets or removes the address. The ledger entry states that the address changed, but does not contain the address.
   * @param email null to remove the address
   * @throws NOT_FOUND if there is no such agent
   * @throws PERMISSION_DENIED if the caller is neither the agent nor an admin
   * @throws CONFLICT if a directory manages the person
   * @throws VALIDATION_ERROR if the agent is a machine and `email` is not null
   */
  async set(caller: Caller, idOrName: string, email: string | null): Promise<void> {
    await this.ledger.withLookups(agentLookup(idOrName)).write(caller, async (transaction) => {
      const agent = agentFor(caller, await findNamedAgent(caller, transaction, idOrName), (id) => {
        if (!maySeeEmail(caller, id))
          throw caller.agentId === null ? scopeMissing(['admin']) : callerRefused('not_this_agent');
      });
      if (agent.directory !== null) throw managedByDirectory('The address');
      if (email !== null && agent.kind !== 'human')
        throw invalidField('email', 'must be of a person, not of a machine');
      // A command that writes without an entry is the last of its batch, so earlier addresses are already committed and
      // visible here.
      if ((await this.emailOf(agent)) === email) return;
      transaction.writeWithoutEntry(emailChange(agent.id, email, transaction.headSequence));
      const details = { fields: ['email'] };
      // Increments the revision, so that the `ETag` changes and copies with the previous address are outdated.
      const changed = { ...agent, ...nextRevision(agent, transaction.now) };
      transaction.update(AGENT, changed, { action: 'agent.updated', agentId: agent.id, details });
    });
  }

  /** Returns the address of the person with this id; null if the person has none. */
  async emailOf({ id }: Pick<Agent, 'id'>): Promise<string | null> {
    const [row] = await this.database.points.all<MailRecipient>(`${SELECT} ${WHERE_AGENT}`, [id]);
    return row?.email ?? null;
  }

  /** Maps agent ids to addresses; agents without an address are missing. */
  async emailsOf(agentIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { dialect, points } = this.database;
    const sql = `${SELECT} WHERE "agentId" IN (${textListSql(dialect)})`;
    const rows = await points.all<MailRecipient>(sql, [arraysOfOne(agentIds)]);
    return new Map(rows.map(({ agentId, email }) => [agentId, email]));
  }
}

/**
 * Returns the statement that sets or removes an address.
 * @param email null to remove the address
 * @param head sequence of the last entry; a person without an address so far gets mails only about later entries
 */
export function emailChange(agentId: string, email: string | null, head: number): SqlStatement {
  if (email === null) return { sql: REMOVE, parameters: [agentId] };
  return { sql: SET, parameters: [agentId, email, head, newEpoch()] };
}

function maySeeEmail({ agentId, effectiveScopes }: Caller, id: string | undefined): boolean {
  return agentId === id || effectiveScopes.has('admin');
}

/**
 * Mail address of a person, and the last entry that was searched for mails to the person. The address is not part of
 * the agent, so no state or entry contains it.
 */
@Entity('mail_recipients')
export class MailRecipient {
  @PrimaryColumn('text')
  readonly agentId!: string;

  @Column('text')
  readonly email!: string;

  /** Sequence up to which entries were searched for decisions that wait for the person. */
  @Column('bigint')
  readonly sequence!: number;

  /**
   * Random number that is replaced whenever the address is set. It shows whether the address has changed since it was
   * read.
   */
  @Column('bigint')
  readonly epoch!: number;

  /** Term of the lease under which the last mail was sent. */
  @Column('bigint')
  readonly term!: number;

  /** Time of the last mail, in ISO 8601. */
  @Column('text', { nullable: true })
  readonly mailedAt!: string | null;
}
