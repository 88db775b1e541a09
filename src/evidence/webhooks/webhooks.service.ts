import { Injectable } from '@nestjs/common';
import { agentLookup, referencedAgent } from '../../governance/agents/find-agent';
import { invalidField, notFound } from '../../core/errors/domain-error';
import type { Caller } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import type { LedgerTransaction, SideWrite } from '../../ledger/ledger-transaction';
import { byId } from '../../ledger/lookup';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { Page, PageRequest } from '../../ledger/record-page';
import { DeliveryProgressStore, replayed, resumed } from './delivery/delivery-progress-store';
import { WebhookDispatcher } from './delivery/webhook-dispatcher';
import type { DeliveryProgress } from './delivery/delivery-progress.entity';
import { hashOfSecret, newSecret, rotated } from './signing-secrets';
import {
  type ChangedMember,
  createdNote,
  deletedNote,
  foundWebhook,
  requireRoom,
  type ShownWebhook,
  shownWebhook,
  updatedNote,
  WEBHOOK,
  type Webhook,
} from './webhook.entity';

/** The members of a new webhook. */
export interface NewWebhook {
  readonly url: string;
  readonly actions: readonly string[];
  /** Id or name. */
  readonly agentId?: string | undefined;
  readonly description?: string | undefined;
}

/** A webhook and its newest secret, which is only shown this once. */
export interface WebhookWithSecret {
  readonly webhook: ShownWebhook;
  readonly secret: string;
}

/** A webhook and the delivery position of its endpoint. */
export interface WebhookWithProgress {
  readonly webhook: ShownWebhook;
  readonly progress: Pick<DeliveryProgress, 'sequence' | 'lastAttemptAt' | 'lastStatus' | 'nextAttemptAt'>;
}

/** Where the deliveries of a webhook are to continue. */
type NewPosition = (webhook: Webhook, transaction: LedgerTransaction) => SideWrite;

const CHANGEABLE = ['url', 'actions', 'agentId', 'description'] as const;

@Injectable()
export class WebhooksService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly store: DeliveryProgressStore,
    private readonly dispatcher: WebhookDispatcher,
  ) {}

  list(request: PageRequest): Promise<Page<ShownWebhook & { readonly createdSequence: number }>> {
    return this.reader.page(WEBHOOK, request);
  }

  /** @throws NOT_FOUND */
  async get(id: string): Promise<WebhookWithProgress> {
    const webhook = await this.existing(id);
    const none = { lastAttemptAt: null, lastStatus: null, nextAttemptAt: null };
    const progress = (await this.store.of(id)) ?? { sequence: webhook.createdSequence, ...none };
    return { webhook, progress };
  }

  /** @throws VALIDATION_ERROR for an unknown agent; CONFLICT when there are too many. */
  async create(caller: Caller, request: NewWebhook): Promise<WebhookWithSecret> {
    const secret = newSecret();
    const created = await this.ledger.prefetching(...lookups(request)).write(caller, async (transaction) => {
      const { url, actions, description = '' } = request;
      const agentId = (await agentOf(transaction, request)) ?? null;
      await requireRoom(transaction);
      const webhook = {
        id: transaction.newId(WEBHOOK),
        url,
        actions,
        agentId,
        description,
        secretHash: hashOfSecret(secret),
        secrets: [{ secret, until: null }],
        status: 'active',
        createdAt: transaction.now,
        updatedAt: transaction.now,
      } as const;
      return transaction.insert(WEBHOOK, webhook, createdNote(webhook));
    });
    this.dispatcher.pollSoon();
    return { webhook: created, secret };
  }

  /**
   * The delivery position stays as it is, and a filter applies to the entries that follow.
   * @throws NOT_FOUND; VALIDATION_ERROR as at creation.
   */
  async update(caller: Caller, id: string, request: Partial<NewWebhook>): Promise<ShownWebhook> {
    const updated = await this.ledger
      .prefetching(byId(WEBHOOK, id), ...lookups(request))
      .write(caller, async (transaction) => {
        const webhook = await foundWebhook(transaction, id);
        const given = { ...request, agentId: await agentOf(transaction, request) };
        const fields = CHANGEABLE.filter(
          (name) => given[name] !== undefined && JSON.stringify(given[name]) !== JSON.stringify(webhook[name]),
        );
        const { url = webhook.url, actions = webhook.actions, description = webhook.description } = given;
        const changed = { ...webhook, url, actions, description, agentId: given.agentId ?? webhook.agentId };
        return withChanges(transaction, webhook, changed, fields);
      });
    this.dispatcher.pollSoon();
    return updated;
  }

  /** @throws NOT_FOUND */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.ledger.prefetching(byId(WEBHOOK, id)).write(caller, async (transaction) => {
      transaction.remove(WEBHOOK, await foundWebhook(transaction, id), deletedNote());
    });
    this.dispatcher.pollSoon();
  }

  /** @throws NOT_FOUND */
  async rotateSecret(caller: Caller, id: string): Promise<WebhookWithSecret> {
    const secret = newSecret();
    const webhook = await this.ledger.prefetching(byId(WEBHOOK, id)).write(caller, async (transaction) => {
      const before = await foundWebhook(transaction, id);
      const secrets = rotated(before.secrets, secret, transaction.now);
      return withChanges(transaction, before, { ...before, secrets, secretHash: hashOfSecret(secret) }, ['secret']);
    });
    this.dispatcher.pollSoon();
    return { webhook, secret };
  }

  /** @throws NOT_FOUND; VALIDATION_ERROR for a position beyond the head. */
  replay(caller: Caller, id: string, after: number): Promise<ShownWebhook> {
    return this.activated(caller, id, (_webhook, { headSequence: head }) => {
      if (after > head) throw invalidField('after', `must not be beyond the last entry, which is ${head}`);
      return replayed(id, after, head);
    });
  }

  /** @throws NOT_FOUND */
  resume(caller: Caller, id: string): Promise<ShownWebhook> {
    return this.activated(caller, id, ({ createdSequence }) => resumed(id, createdSequence));
  }

  private async activated(caller: Caller, id: string, position: NewPosition): Promise<ShownWebhook> {
    const activated = await this.ledger.prefetching(byId(WEBHOOK, id)).write(caller, async (transaction) => {
      const before = await foundWebhook(transaction, id);
      transaction.writeAside(position(before, transaction));
      const fields: readonly ChangedMember[] = before.status === 'active' ? [] : ['status'];
      // Without the secrets: it is kept for an idempotency key.
      return shownWebhook(withChanges(transaction, before, { ...before, status: 'active' }, fields));
    });
    this.dispatcher.pollSoon();
    return activated;
  }

  private async existing(id: string): Promise<Webhook> {
    const webhook = await this.reader.find(WEBHOOK, id);
    if (webhook === undefined) throw notFound('webhook');
    return webhook;
  }
}

function lookups({ agentId }: Partial<NewWebhook>): ReturnType<typeof agentLookup>[] {
  return agentId === undefined ? [] : [agentLookup(agentId)];
}

async function agentOf(transaction: LedgerTransaction, { agentId }: Partial<NewWebhook>): Promise<string | undefined> {
  return agentId === undefined ? undefined : (await referencedAgent(transaction, 'agentId', agentId)).id;
}

/** If nothing has changed, no entry is written. */
function withChanges(
  transaction: LedgerTransaction,
  before: Webhook,
  changed: Webhook,
  fields: readonly ChangedMember[],
): Webhook {
  if (fields.length === 0) return before;
  return transaction.update(WEBHOOK, { ...changed, updatedAt: transaction.now }, updatedNote(fields));
}
