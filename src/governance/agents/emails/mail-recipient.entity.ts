import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The address of a person, and up to where they know what waits for them. Beside the agent: it is in no state and entry. */
@Entity('mail_recipients')
export class MailRecipient {
  @PrimaryColumn('text')
  readonly agentId!: string;

  @Column('text')
  readonly email!: string;

  /** Sequence up to which decisions were looked through that came to wait for the person. */
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
