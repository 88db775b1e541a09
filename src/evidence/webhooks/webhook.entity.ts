import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { ApiChoice, ApiMember, ApiNullableText } from '../../http/openapi/response-members';
import { sampleId } from '../../http/openapi/documentation.decorators';
import { isOfHash, type SigningSecret } from './signing-secrets';
import type { RecordKind } from '../../ledger/kinds/record-kind';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import { conflict, requireFound } from '../../core/errors/domain-error';
import type { EventFilter } from '../events/event-filter';

const WEBHOOK_STATUSES = ['active', 'failing'] as const;
type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** Contents of deliveries: audit entries as they are, messages for people about decisions, or events for a SIEM. */
export const WEBHOOK_FORMATS = ['event', 'slack', 'teams', 'ocsf'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** Details of a message: everything that a reviewer needs in order to decide, or only that there is a decision. */
export const MESSAGE_DETAILS = ['full', 'reference'] as const;
export type MessageDetail = (typeof MESSAGE_DETAILS)[number];

/** An endpoint for audit entries, as it is stored, and as responses show it. */
@Entity('webhooks')
export class Webhook {
  @PrimaryColumn('text')
  @ApiProperty({ example: sampleId('whk') })
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  /** For a chat only the origin, because anybody with the whole URL could write there. */
  @Column('text')
  @ApiMember('For the formats `slack` and `teams` only the origin, except in the answer that creates it.', {
    example: 'https://hooks.example.com/governance',
  })
  readonly url!: string;

  /** Whole URL of a chat, stored only here; null for the other formats. Not hashed. */
  @Column('text', { nullable: true })
  readonly target!: string | null;

  /** Patterns of the actions it receives. */
  @Column('simple-json')
  @ApiProperty({ type: [String], example: ['decision.*', 'execution.denied'] })
  readonly actions!: readonly string[];

  @Column('text', { default: 'event' })
  @ApiChoice(['WebhookFormat', WEBHOOK_FORMATS], 'event', 'What is delivered.')
  readonly format!: WebhookFormat;

  @Column('text', { default: 'full' })
  @ApiChoice(['MessageDetail', MESSAGE_DETAILS], 'full', 'How much messages say.')
  readonly detail!: MessageDetail;

  @Column('simple-json', { default: 'false' })
  @ApiMember('Whether its messages have buttons.', { example: false })
  readonly buttons!: boolean;

  /** Subjects, compared as text. */
  @Column('simple-json', { default: '[]' })
  @ApiMember('Only decisions of approvers that name one of these subjects; empty: all.', {
    type: [String],
    example: ['role:finance'],
  })
  readonly approvers!: readonly string[];

  @Column('text', { nullable: true })
  @ApiNullableText('Null: entries of all agents.', sampleId('agt'))
  readonly agentId!: string | null;

  @Column('text')
  @ApiProperty({ example: 'Informs the finance channel of decisions.' })
  readonly description!: string;

  /** SHA-256 of the newest secret, in hex: the only trace of it in the sealed state. */
  @Column('text')
  readonly secretHash!: string;

  /** Secrets that sign deliveries, newest first: unencrypted, and stored only here. Not hashed, and in no response. */
  @Column('simple-json')
  readonly secrets!: readonly SigningSecret[];

  @Column('text')
  @ApiChoice(
    ['WebhookStatus', WEBHOOK_STATUSES],
    'active',
    '`failing`: nothing is delivered until it is resumed or replayed.',
  )
  readonly status!: WebhookStatus;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @Column('text')
  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly updatedAt!: string;
}

/** The record kind of webhooks. The hashed members are frozen. */
export const WEBHOOK: RecordKind<Webhook> = {
  subjectType: 'webhook',
  idPrefix: 'whk',
  table: Webhook,
  hashedMembers: ['id', 'url', 'actions', 'agentId', 'description', 'secretHash', 'status', 'createdAt', 'updatedAt'],
  laterMembers: { format: 'event', detail: 'full', buttons: false, approvers: [] },
  counter: 'webhooks',
  decisive: { status: WEBHOOK_STATUSES, format: WEBHOOK_FORMATS, detail: MESSAGE_DETAILS },
  unhashedAgree: ({ secrets, secretHash, target, format, url }) =>
    isOfHash(secrets, secretHash) && (isChat(format) ? originOf(target) === url : target === null),
};

/** Returns the address of a webhook's deliveries: the URL to show, and the whole URL if it differs. */
export function withAddress(format: WebhookFormat, url: string): Pick<Webhook, 'url' | 'target'> {
  return isChat(format) ? { url: new URL(url).origin, target: url } : { url, target: null };
}

/** Returns the URL of the deliveries, which must be in no response, entry or log line. */
export function addressOf({ url, target }: Pick<Webhook, 'url' | 'target'>): string {
  return target ?? url;
}

/** True if people read the deliveries. */
export function isChat(format: unknown): format is 'slack' | 'teams' {
  return format === 'slack' || format === 'teams';
}

function originOf(stored: unknown): string | null {
  return typeof stored === 'string' && URL.canParse(stored) ? new URL(stored).origin : null;
}

const NAMED_DECISION = /^decision\.[^*]+$/;

/** Returns the fault of the actions of a webhook of a format; undefined if there is none. */
export function actionsFault(format: unknown, actions: readonly unknown[]): string | undefined {
  if (!isChat(format) || actions.every((action) => NAMED_DECISION.test(String(action)))) return undefined;
  return `must each be an action of decisions, such as decision.proposed, for the format ${format}`;
}

/** Members of a webhook that an entry lists when they have changed. */
export type ChangedMember = 'url' | 'actions' | 'agentId' | 'description' | 'secret' | 'status';

/** @throws NOT_FOUND */
export async function requireWebhook(transaction: LedgerTransaction, id: string): Promise<Webhook> {
  return requireFound(await transaction.find(WEBHOOK, id), 'webhook');
}

const MAX_WEBHOOKS = 100;

/** @throws CONFLICT if the maximum number of webhooks exists */
export async function requireRoom(transaction: LedgerTransaction): Promise<void> {
  const counts = await Promise.all(WEBHOOK_STATUSES.map((status) => transaction.count(WEBHOOK, { status })));
  if (counts.reduce((sum, count) => sum + count, 0) < MAX_WEBHOOKS) return;
  throw conflict(`There are ${MAX_WEBHOOKS} webhooks already, which is the maximum. Delete one first.`);
}

/** Returns the filter for entries that concern a webhook. */
export function filterOf({ actions, agentId }: Webhook): EventFilter {
  const chosen = actions.includes('*') ? {} : { actions };
  return agentId === null ? chosen : { ...chosen, agentId };
}
