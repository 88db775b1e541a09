import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { SigningSecret } from './signing-secrets';

export const WEBHOOK_STATUSES = ['active', 'failing'] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** An endpoint that audit entries are delivered to, as it is stored. */
@Entity('webhooks')
export class Webhook {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  readonly url!: string;

  /** Patterns of the actions it receives. */
  @Column('simple-json')
  readonly actions!: readonly string[];

  /** Only entries of this agent; null: of all. */
  @Column('text', { nullable: true })
  readonly agentId!: string | null;

  @Column('text')
  readonly description!: string;

  /** SHA-256 of the newest secret, in hex. */
  @Column('text')
  readonly secretHash!: string;

  /** The secrets that sign deliveries, newest first: unencrypted, and only here. Not hashed, and in no answer. */
  @Column('simple-json')
  readonly secrets!: readonly SigningSecret[];

  @Column('text')
  readonly status!: WebhookStatus;

  @Column('text')
  readonly createdAt!: string;

  @Column('text')
  readonly updatedAt!: string;
}
