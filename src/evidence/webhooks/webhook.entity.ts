import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { isOfHash, type SigningSecret } from './signing-secrets';
import type { RecordKind } from '../../ledger/record-kind';
import type { EntryNote, LedgerTransaction } from '../../ledger/ledger-transaction';
import { conflict, found } from '../../core/errors/domain-error';
import type { EventFilter } from '../events/event-filter';

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

/** How the ledger keeps webhooks. The hashed members are frozen. */
export const WEBHOOK: RecordKind<Webhook> = {
  subjectType: 'webhook',
  idPrefix: 'whk',
  table: Webhook,
  hashedMembers: ['id', 'url', 'actions', 'agentId', 'description', 'secretHash', 'status', 'createdAt', 'updatedAt'],
  counter: 'webhooks',
  decisive: { status: WEBHOOK_STATUSES },
  unhashedAgree: ({ secrets, secretHash }) => isOfHash(secrets, secretHash),
};

/** Members of a webhook that an entry lists when they have changed. */
export type ChangedMember = 'url' | 'actions' | 'agentId' | 'description' | 'secret' | 'status';

export function createdNote({ actions }: Pick<Webhook, 'actions'>): EntryNote {
  return { action: 'webhook.created', details: { actions } };
}

export function updatedNote(changed: readonly ChangedMember[]): EntryNote {
  return { action: 'webhook.updated', details: { fields: changed } };
}

export function deletedNote(): EntryNote {
  return { action: 'webhook.deleted' };
}

/** @param status of the last answer. */
export function failingNote(status: number | null): EntryNote {
  return { action: 'webhook.failing', details: { status }, bySystem: true };
}

/** @throws NOT_FOUND */
export async function foundWebhook(transaction: LedgerTransaction, id: string): Promise<Webhook> {
  return found(await transaction.find(WEBHOOK, id), 'webhook');
}

/** A webhook without its secrets: may be returned, and stored for an idempotency key. */
export type ShownWebhook = Omit<Webhook, 'secrets'>;

export function shownWebhook(webhook: Webhook): ShownWebhook {
  const { id, createdSequence, url, actions, agentId, description, secretHash, status, createdAt, updatedAt } = webhook;
  return { id, createdSequence, url, actions, agentId, description, secretHash, status, createdAt, updatedAt };
}

const MOST_WEBHOOKS = 100;

/** @throws CONFLICT when the maximum number of webhooks exists. */
export async function requireRoom(transaction: LedgerTransaction): Promise<void> {
  const counts = await Promise.all(WEBHOOK_STATUSES.map((status) => transaction.count(WEBHOOK, { status })));
  if (counts.reduce((sum, count) => sum + count, 0) < MOST_WEBHOOKS) return;
  throw conflict(`There are ${MOST_WEBHOOKS} webhooks already, which is the maximum. Delete one first.`);
}

/** Which entries concern a webhook. */
export function filterOf({ actions, agentId }: Webhook): EventFilter {
  const chosen = actions.includes('*') ? {} : { actions };
  return agentId === null ? chosen : { ...chosen, agentId };
}
