import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The mail address of a person, and up to which entry they have had mail. It is not part of the agent, so that no state
 * or entry contains it.
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

  /** Another, random one for each address. */
  @Column('bigint')
  readonly epoch!: number;

  /** Term of the lease under which the last mail was sent. */
  @Column('bigint')
  readonly term!: number;

  /** ISO 8601: when the last mail was sent. */
  @Column('text', { nullable: true })
  readonly mailedAt!: string | null;
}
